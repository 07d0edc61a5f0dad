"""A whole job as data: where events come from, what is looked for, where matches go; checked, then run."""
