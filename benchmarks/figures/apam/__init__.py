"""The evaluation of APAM (CIKM 2016, section 6): eager, lazy, or in between, by the rate of events."""
