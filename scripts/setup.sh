#!/bin/sh
# setup.sh  makes .venv anew and installs what requirements.lock names, each file checked by its hash.
# PYTHON=... chooses the interpreter; otherwise the first of the usual names that is 3.11 or newer.
set -eu
cd "$(dirname "$0")/.."

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
# Debian ships Python without ensurepip, which `python -m venv` needs, in a package of its own.
can_make_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

# Sets `python` to an interpreter that can do all we need, or to one that lacks ensurepip, or to nothing.
find_python() {
    python=
    for candidate in ${PYTHON:-python3 python3.12 python3.13 python3.11 python3.14 python /usr/bin/python3}; do
        is_new_enough "$candidate" || continue
        if can_make_venv "$candidate"; then python=$candidate; return 0; fi
        [ -n "$python" ] || python=$candidate
    done
    return 1
}

if ! find_python; then
    if [ -n "${PYTHON:-}" ]; then
        echo "PYTHON=$PYTHON is not a Python 3.11 or newer with the modules venv and ensurepip" >&2
        exit 1
    fi
    scripts/apt-install.sh python3 python3-venv || true
    if ! find_python; then
        if [ -n "$python" ]; then
            echo "$python cannot make a virtual environment: install its module ensurepip (Debian and Ubuntu: apt-get install python3-venv)" >&2
        else
            echo "no Python 3.11 or newer was found: install one, or name one with PYTHON=/path/to/python" >&2
        fi
        exit 1
    fi
fi

echo "[1/2] a virtual environment in .venv, with $("$python" --version)"
rm -rf .venv
"$python" -m venv .venv
echo "[2/2] what requirements.lock names: about 1.5 GB on disk, one to five minutes (PySpark is the largest)"
# Without a terminal, pip's names of what it fetches are the progress.
.venv/bin/python -m pip install --disable-pip-version-check --require-hashes -r requirements.lock
