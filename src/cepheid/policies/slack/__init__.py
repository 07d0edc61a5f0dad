"""ProbSlack: a window is closed once the chance that it misses an event is within a budget; and its baselines.

Source: N. Rivetti, N. Zacheilas, A. Gal, V. Kalogeraki: Probabilistic Management of Late Arrival of Events, DEBS 2018.
"""
