"""Benchmarks of cepheid; see README.md here. What they measure is machine code, unless they say otherwise."""

import os

os.environ.setdefault("CEPHEID_JIT", "wait")
