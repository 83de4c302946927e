"""The durable record: append-only events, and beside them the texts and vectors they are about."""
