#!/bin/bash
set -e
sysctl --system
if [ -e /var/run/reboot-required ]; then sudo reboot; fi
