"""One root for every error that askless raises on purpose.

A message says what was found, what was expected and what to do. The command line turns any of these into one
sentence on the terminal, in one place; the service will turn them into an HTTP status, in one place.
"""

from __future__ import annotations


class AsklessError(Exception):
    """The root: catch this to catch everything askless raises on purpose."""


class InvalidInput(AsklessError, ValueError):
    """A value that cannot be used: NaN, a wrong dimension, a threshold outside its range."""


class UnknownExample(AsklessError, KeyError):
    """An example id that the policy does not hold."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnknownLabel(AsklessError, KeyError):
    """A label that the policy does not hold."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnreadableFile(AsklessError):
    """A file that is truncated, foreign, or written by a version this one cannot read."""


class UnwritableFile(AsklessError, OSError):
    """A file that could not be written; what was there before is as it was."""


class CheckFailed(AsklessError):
    """A policy broke a promise of the contract in askless.checks; the message says which one, and how."""


class MissingExtra(AsklessError, ImportError):
    """An optional dependency that is not installed; the message names the extra."""
