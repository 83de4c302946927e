"""The history: past queries with what was decided and why."""
