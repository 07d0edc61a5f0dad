#!/bin/sh
# apt-install.sh PACKAGE...  installs Debian packages as root or by sudo without a password.
# Exits with 1, having changed nothing, where neither is possible. All output goes to stderr.
set -eu

command -v apt-get >/dev/null 2>&1 || exit 1
if [ "$(id -u)" -eq 0 ]; then
    as_root="env"
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo -n env"
else
    exit 1
fi
echo "installing $* with apt-get" >&2
$as_root DEBIAN_FRONTEND=noninteractive apt-get update -qq </dev/null >&2
$as_root DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null >&2
