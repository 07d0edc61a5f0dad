"""Real stores and topics."""
