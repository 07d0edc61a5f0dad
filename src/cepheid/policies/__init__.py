"""The techniques that decide how the engine works; none imports another."""
