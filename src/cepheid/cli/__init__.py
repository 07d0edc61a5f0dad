"""The command `cepheid`."""
