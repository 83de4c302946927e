"""The command line: one short module a command."""
