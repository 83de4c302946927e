"""The desk as a service: an HTTP API over live desks and their ledger."""
