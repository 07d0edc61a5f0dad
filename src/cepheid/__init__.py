"""Complex event processing for Python, on Spark."""

__version__ = "0.1.0"
