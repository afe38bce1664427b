#!/bin/bash
systemctl enable --now slurmctld || systemctl enable --now slurmd
