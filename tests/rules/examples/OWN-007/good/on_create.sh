#!/bin/bash
systemctl enable --now slurmctld || systemctl enable --now slurmd
curl -s http://169.254.169.254/latest/meta-data/instance-id
# pip install torch
