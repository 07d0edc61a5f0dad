"""The hand-written kernels that run any plan, on arrays. Nothing here imports another room.

`layout` names the numbers that plans and kernels share; `predicates` evaluates conditions; `advance` steps
partial matches over events; `output` puts matches in order. With the environment variable ``CEPHEID_JIT=0``
all of them run as plain Python, for coverage and for debugging.
"""
