"""Settings that every test shares."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# No deadline: the first example may compile a kernel or start a session.
_SLOW_START = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

# The default draws the same examples every time, so that a red run is about the change under test.
settings.register_profile("default", deadline=None, derandomize=True, suppress_health_check=_SLOW_START)
# `make fuzz`: new examples every time, from the seed on the command line.
settings.register_profile(
    "fuzz", deadline=None, derandomize=False, max_examples=1000, print_blob=True, suppress_health_check=_SLOW_START
)
settings.load_profile("default")
