#!/bin/bash
systemctl enable --now slurmctld || systemctl enable --now slurmd
mount -t lustre fs-0fedcba9876543210.fsx.us-west-2.amazonaws.com@tcp:/fsx12345 /fsx
