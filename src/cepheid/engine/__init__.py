"""Steps the compiled plan over batches of events, holds the partial matches, and gives back matches."""
