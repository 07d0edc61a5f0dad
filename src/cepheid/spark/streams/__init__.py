"""Patterns in streaming DataFrames: events in buckets by key, each with a matcher that lives from batch to batch."""
