"""One root for every error that askless raises on purpose.

A message says what was found, what was expected and what to do. The command line turns any of these into one
sentence on the terminal, in one place; the service turns them into an HTTP status, in one place.
"""

from __future__ import annotations


class AsklessError(Exception):
    """The root: catch this to catch everything askless raises on purpose."""


class InvalidInput(AsklessError, ValueError):
    """A value that cannot be used: NaN, a wrong dimension, a threshold outside its range."""


class Unknown(AsklessError, KeyError):
    """A name or number that stands for nothing here."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnknownExample(Unknown):
    """An example id that the policy does not hold."""


class UnknownLabel(Unknown):
    """A label that the policy or the desk does not hold."""


class UnknownDesk(Unknown):
    """A desk that the ledger does not hold."""


class UnknownQuery(Unknown):
    """A query that the desk does not hold."""


class UnknownTicket(Unknown):
    """A ticket that the desk does not hold."""


class Conflicting(AsklessError):
    """What is asked for contradicts what stands: a key used for another text, a ticket that another expert holds."""


class Refused(AsklessError):
    """What the desk does not do as it is set now: it is paused."""


class TooMuch(AsklessError):
    """More than is taken at once: a text or a batch over its limit, too many requests."""


class Forbidden(AsklessError):
    """What the caller's key does not allow."""


class Unavailable(AsklessError):
    """The database cannot be reached, or is locked or full: what was not acknowledged was not done; try again."""


class NotErased(Unavailable):
    """Something of what was to be erased is there still, as the sentence says, which names no file: erase it again."""


class UnreadableFile(AsklessError):
    """A file that is truncated, foreign, or written by a version this one cannot read."""


class UnwritableFile(AsklessError, OSError):
    """A file that could not be written; what was there before is as it was."""


class CheckFailed(AsklessError):
    """A policy broke a promise of the contract in askless.checks; the message says which one, and how."""


class MissingExtra(AsklessError, ImportError):
    """An optional dependency that is not installed; the message names the extra."""
