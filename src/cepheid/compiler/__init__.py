"""Conditions column by column, and as a table that the kernels interpret; loads the kernels, compiled once."""
