#!/bin/sh
# figures.sh [OPTION...]  runs every figure script, benchmarks/figures/<paper>/__main__.py, with these options;
# where PAPER is set, that one alone.
set -eu
cd "$(dirname "$0")/.."

n_run=0
for script in benchmarks/figures/"${PAPER:-}"*/__main__.py; do
    [ -f "$script" ] || continue
    name=$(basename "$(dirname "$script")")
    echo "== $name"
    .venv/bin/python -m "benchmarks.figures.$name" "$@"
    n_run=$((n_run + 1))
done
if [ "$n_run" -eq 0 ]; then
    echo "no figure script yet: they go into benchmarks/figures/<paper>/__main__.py" >&2
    exit 1
fi
