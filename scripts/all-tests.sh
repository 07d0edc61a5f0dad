#!/bin/sh
# all-tests.sh  runs all tests, the slow ones too, and those on Spark again with the oldest PySpark. What runs on Spark
# and Kafka goes beside what does not, so that both processors work all the time; what it says follows at the end.
set -u
cd "$(dirname "$0")/.."
mkdir -p build
said=build/tests-on-spark.txt

on_spark() {
    failed=0
    .venv/bin/python -m pytest tests/spark tests/kafka || failed=1
    scripts/oldest-pyspark.sh || failed=1
    return $failed
}

echo "tests on Spark and Kafka run beside these: tail -f $said"
on_spark > "$said" 2>&1 &
beside=$!
# A shell's children in the background do not hear Ctrl-C: they are told.
trap 'pkill -TERM -P "$beside"; kill "$beside"; exit 130' INT TERM

failed=0
.venv/bin/python -m pytest --ignore tests/spark --ignore tests/kafka || failed=1
wait "$beside" || failed=1
cat "$said"
exit $failed
