"""One algorithm a file, named after it."""
