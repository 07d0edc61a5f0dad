"""What flows: types, schema, columnar batches, time."""
