"""Where policies meet the engine: protocols, and the frozen data that goes over. They see arrays, never a kernel."""
