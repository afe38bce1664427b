#!/bin/bash
set -euo pipefail
echo 'our worker is set up'
