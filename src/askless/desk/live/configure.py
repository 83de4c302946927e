"""A desk's settings, changed while it works. Each is an operation of the desk's worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askless.desk.live.desk import LiveDesk
from askless.desk.live.desks import Desks
from askless.desk.live.settings import LiveSettings
from askless.errors import InvalidInput
from askless.ledger import events as kinds


def settings_of(desks: Desks, name: str) -> LiveSettings:
    """What a desk is set to."""
    return desks.run(name, lambda desk: desk.settings).result()


def configure(desk: LiveDesk, changes: Mapping[str, Any], who: str | None) -> LiveSettings:
    """Change some of the settings; what is not named stays. The settings that hold from here on.

    Another policy, or other costs, learn all examples that stand, in their order: nothing is lost. The embedder is
    changed by `reembed`, since all stored vectors change with it.
    """
    embedder = changes.get("embedder", desk.settings.embedder)
    if embedder != desk.settings.embedder:
        raise InvalidInput(
            f"The vectors of this desk come from {desk.settings.embedder}, and another embedder needs them all anew: "
            f"start a job that embeds the stored texts with {embedder!r}; the desk is switched when it is done."
        )
    settings = desk.settings.changed(**changes)
    if settings != desk.settings:
        desk.record(kinds.CONFIGURED, payload=settings.written(), who=who)
    return settings


def pause(desk: LiveDesk, who: str | None) -> LiveSettings:
    """Refuse new queries until `resume`; tickets that wait can be answered."""
    return configure(desk, {"paused": True}, who)


def resume(desk: LiveDesk, who: str | None) -> LiveSettings:
    """Take queries again."""
    return configure(desk, {"paused": False}, who)
