"""What the engine is compared with: the same matches, found by other means, each in an environment of its own."""
