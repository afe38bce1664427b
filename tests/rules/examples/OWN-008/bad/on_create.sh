#!/bin/bash
systemctl enable --now slurmctld || systemctl enable --now slurmd
group=$1; [ "$group" = "controller-machine" ] && exit
