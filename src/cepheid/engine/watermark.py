"""What a watermark is before and after all events."""

BEFORE_ALL_US = -(2**63)
"""The watermark before anything is known."""

AFTER_ALL_US = 2**63 - 1
"""The watermark after the end of the input."""
