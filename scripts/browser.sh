#!/usr/bin/env bash
# Installs Chromium from Debian for tests of pages, unless it is installed. Without the permission to
# install it prints a message and succeeds: those tests are skipped, except in CI.
set -euo pipefail

if command -v chromium >/dev/null; then
    exit
fi
if [[ $EUID -ne 0 ]] || ! command -v apt-get >/dev/null; then
    printf 'browser: there is no chromium: tests of pages are skipped\n  fix: sudo apt-get install chromium\n' >&2
    exit
fi
echo "browser: installing the Debian package chromium"
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install --yes -qq --no-install-recommends chromium >/dev/null
