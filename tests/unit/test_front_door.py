"""`import cepheid` is light, and gives everything it promises."""

from __future__ import annotations

import ast
import json
import statistics
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import cepheid

HEAVY = ("pyspark", "numba", "llvmlite", "pandas", "polars", "pyarrow", "numpy", "pydantic", "typer", "rich", "lark")
MAX_IMPORT_S = 0.5


def _in_new_process(code: str) -> str:
    """What ``code`` prints in an interpreter that has imported nothing of ours."""
    source = str(Path(cepheid.__file__).resolve().parents[1])
    program = f"import sys; sys.path.insert(0, {source!r})\n{code}"
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout


def test_importing_cepheid_imports_nothing_heavy():
    loaded = json.loads(_in_new_process("import json, cepheid; print(json.dumps(sorted(sys.modules)))"))
    assert [name for name in HEAVY if name in loaded] == []


def test_reading_a_query_needs_neither_spark_nor_numba_nor_pandas():
    code = "import json, cepheid; cepheid.Query.parse('PATTERN SEQ(A a, B b)'); print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(_in_new_process(code))
    assert [name for name in ("pyspark", "numba", "pandas", "polars") if name in loaded] == []


def test_the_engine_imports_numba_when_it_runs_a_plan():
    loaded = json.loads(_in_new_process("import json, cepheid.engine.session; print(json.dumps(sorted(sys.modules)))"))
    assert [name for name in ("numba", "llvmlite") if name in loaded] == []


def test_matching_an_arrow_table_imports_no_pandas():
    code = """
        import json, os
        os.environ["CEPHEID_JIT"] = "0"
        import cepheid, numpy as np, pyarrow as pa
        from cepheid.events.arrow_memory import array_of, texts_of
        # Arrow's own conversions from Python import pandas.
        numbers, texts = array_of(np.array([1, 2])), texts_of(["A", "B"])
        table = pa.Table.from_arrays([numbers, texts, numbers, texts], names=["ts", "type", "x", "name"])
        query = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 1 s RETURN a.name AS name, b.x AS x"
        assert len(cepheid.match(table, query, time="ts", type="type", time_unit="ms")) == 1
        print(json.dumps(sorted(sys.modules)))
    """
    assert "pandas" not in json.loads(_in_new_process(textwrap.dedent(code)))


def test_importing_cepheid_takes_less_than_half_a_second():
    code = "import time; start = time.perf_counter(); import cepheid; print(time.perf_counter() - start)"
    assert statistics.median(float(_in_new_process(code)) for _ in range(3)) < MAX_IMPORT_S


@pytest.mark.parametrize("name", cepheid.__all__)
def test_every_public_name_can_be_had(name: str):
    assert getattr(cepheid, name) is not None
    assert name in dir(cepheid)


def test_type_checkers_see_the_same_names():
    body = ast.parse(Path(cepheid.__file__).read_text(encoding="utf-8")).body
    guarded = next(n for n in body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")
    seen = {alias.asname or alias.name for n in guarded.body if isinstance(n, ast.ImportFrom) for alias in n.names}
    assert seen == set(cepheid._LAZY)
    assert set(cepheid.__all__) == {*cepheid._LAZY, "errors", "__version__"}


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Qery'"):
        _ = cepheid.Qery


@pytest.mark.slow
def test_a_worker_of_a_stream_imports_nothing_but_cepheid_itself():
    # What Spark's worker imports for any step with state, pandas among it, is not ours to choose.
    code = """
        import json, sys
        import pandas, pyarrow, pyspark.worker, pyspark.sql.pandas.serializers
        before = set(sys.modules)
        import cepheid.spark.operator, cepheid.spark.streams.step, cepheid.spark.streams.packs
        print(json.dumps(sorted(set(sys.modules) - before)))
    """
    added = json.loads(_in_new_process(textwrap.dedent(code)))
    outside = {name.partition(".")[0] for name in added} - {"cepheid", "numpy"}
    assert outside <= set(sys.stdlib_module_names)
    assert "cepheid.spark.streams.step" in added
    assert "cepheid.job" not in added
