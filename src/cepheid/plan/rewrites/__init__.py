"""Rules that turn a plan into an equivalent one; one rule per file."""
