"""What is known of a stream: estimates over a sliding window, and formulas of queues."""
