#!/bin/bash
set -e
systemctl restart rsyslog
echo "no reboot is needed"
