"""For tests of queries: the oracle that says what a query means, and random queries and streams."""
