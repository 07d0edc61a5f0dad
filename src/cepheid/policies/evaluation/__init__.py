"""Chooses, while a query runs, which of its variables extend partial matches as they come and which wait: APAM."""
