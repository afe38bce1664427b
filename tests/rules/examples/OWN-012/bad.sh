#!/bin/bash
set -e
apt-get install htop
