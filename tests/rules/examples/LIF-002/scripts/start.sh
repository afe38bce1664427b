#!/bin/bash
systemctl enable --now slurmctld
