"""How the cost of an event grows with the window, the number of keys and the length of the stream."""
