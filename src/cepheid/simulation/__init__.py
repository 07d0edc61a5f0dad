"""What the papers measure: their streams and machines, made up from a seed, in virtual time."""
