"""``python -m cepheid``: the command line."""

from cepheid.cli.main import app

app()
