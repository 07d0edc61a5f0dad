"""Protocols where rooms meet: policies, stores, clock, telemetry."""
