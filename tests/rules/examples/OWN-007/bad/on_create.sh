#!/bin/bash
systemctl enable --now slurmctld || systemctl enable --now slurmd
python3 -m pip install torch
