"""Patterns in batch DataFrames of Spark; the only room that imports PySpark."""
