#!/bin/bash
systemctl enable --now slurmctld || systemctl enable --now slurmd
mount -t lustre fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com@tcp:/fsx12345 /fsx
