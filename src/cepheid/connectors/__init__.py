"""Where events come from and where matches go: files."""
