"""Patterns in Spark DataFrames, batch and streaming; the only room that imports PySpark."""
