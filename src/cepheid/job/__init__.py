"""A whole job as data (source, query, stores, sink): read, checked, then wired."""
