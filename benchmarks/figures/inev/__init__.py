"""The INEv paper's experiments on drawn networks: the trend of Figure 6a so far."""
