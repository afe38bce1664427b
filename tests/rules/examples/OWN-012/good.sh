#!/bin/bash
set -e
apt-get install -y htop # no question
