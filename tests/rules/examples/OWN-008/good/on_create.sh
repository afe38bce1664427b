#!/bin/bash
systemctl enable --now slurmctld || systemctl enable --now slurmd
grep -q controller /opt/ml/config/provisioning_parameters.json
