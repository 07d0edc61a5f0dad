"""The type of the function by which kernels call out to the host."""

from __future__ import annotations

import ctypes

HOST_TYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
"""A function of the host: it gets the number of a sub-expression, and where in the pool the tag of its first operand
lies (the values lie beside, as `layout` says). It puts its result in the place of that operand. What it returns does
not count. It takes the GIL, which the kernels run without."""
