"""Events per second of the engine in one process, on one core, and how long the first query takes."""
