#!/bin/sh
# oldest-pyspark.sh [PYTEST-ARGUMENTS]  runs tests on Spark with the oldest PySpark that is supported: those that are not
# slow, and those marked `oldest`, of Kafka and Delta (which runs on no newer one yet). It is installed once, in
# build/pyspark-4.0, and stands before that of the environment on the path of modules; everything else is shared.
# PY=... names the interpreter, .venv/bin/python without.
set -eu
cd "$(dirname "$0")/.."
py=${PY:-.venv/bin/python}
folder=build/pyspark-4.0
wanted=$(cksum < scripts/pyspark-4.0.txt)

if [ "$(cat "$folder/installed" 2>/dev/null)" != "$wanted" ]; then
    echo "PySpark 4.0 is installed in $folder: one to three minutes"
    rm -rf "$folder"
    mkdir -p "$folder"
    "$py" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --target "$folder" \
        -r scripts/pyspark-4.0.txt
    echo "$wanted" > "$folder/installed"
fi

PYTHONPATH="$PWD/$folder:$PWD/src:$PWD${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONPATH
"$py" -c 'import sys, pyspark; sys.exit(pyspark.__version__[:4] != "4.0.")' || {
    echo "PySpark 4.0 in $folder is not the one that Python imports" >&2
    exit 1
}
SPARK_SUBMIT_OPTS=$("$py" scripts/spark_java.py)
export SPARK_SUBMIT_OPTS
[ $# -gt 0 ] || set -- -m "not slow or oldest" tests/spark tests/kafka
# PySpark 4.0 leaves the sockets open by which it gives results to Python.
exec "$py" -m pytest -W "ignore:unclosed <socket:ResourceWarning" "$@"
