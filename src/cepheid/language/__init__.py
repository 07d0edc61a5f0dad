"""The query language: text or builder to one tree, and the tree to a query that fits its schema."""
