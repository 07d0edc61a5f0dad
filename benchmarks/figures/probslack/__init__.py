"""ProbSlack's evaluation: its streams, its baselines, its figures 6 to 13 and Table 1."""
