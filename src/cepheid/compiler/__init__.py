"""Predicates as a table that the kernel interprets, and as generated machine code."""
