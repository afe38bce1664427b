#!/usr/bin/env bash
# Installs Chromium from Debian, in which tests look at pages, where there is none. Who may not
# install it is told, and goes on: those tests are skipped, but not in CI.
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
