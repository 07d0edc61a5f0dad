"""Operators and functions of the language over whole columns; `docs/expressions.md` says what each means."""
