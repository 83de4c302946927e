"""`askless desk reembed`: another embedder for a desk."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Annotated

import typer

from askless.cli.database import DEFAULT_DATABASE, DatabaseOption
from askless.cli.desk_data import DeskArgument
from askless.errors import AsklessError

if TYPE_CHECKING:
    from askless.cli.progress import Show
    from askless.desk.live.desks import Desks
    from askless.desk.live.switch import Job

_POLL_SECONDS = 1.0


def reembed(
    desk: DeskArgument,
    embedder: Annotated[str, typer.Argument(help="The new embedder, such as minilm.")],
    forget_vectors: Annotated[
        bool,
        typer.Option(
            "--forget-vectors",
            help="Forget examples that came as vectors, without a text, and learn nothing from the answers to open "
            "questions that did.",
        ),
    ] = False,
    database: DatabaseOption = DEFAULT_DATABASE,
) -> None:
    """Embed all stored texts of a desk with another embedder, then switch to it; until then it works as before.

    Interrupt it, and the same command goes on where it was, as does a server that starts on the database.
    """
    from askless.cli.database import opened_desks
    from askless.cli.label_screen import counted
    from askless.cli.progress import bar

    with opened_desks(database) as desks:
        job = _begun(desks, desk, embedder, forget_vectors)
        try:
            with bar(f"embedding with {embedder}", job.total) as show:
                job = _followed(desks, desk, job, show)
        except KeyboardInterrupt:
            typer.echo("askless: interrupted; the desk works as before, and the same command goes on.", err=True)
            raise
    if job.error is not None:
        raise AsklessError(f"The desk {desk} keeps its embedder: {job.error}")
    forgot = f" It forgot {counted(job.forgets, 'example')} without a text." if job.forgets else ""
    texts = f"{counted(job.done, 'text')} {'was' if job.done == 1 else 'were'} embedded"
    typer.echo(f"The desk {desk} has the embedder {embedder} now; {texts}.{forgot}")


def _begun(desks: Desks, desk: str, embedder: str, forget_vectors: bool) -> Job:
    """The job that is under way for that embedder, or a new one."""
    from askless.cli.label_open import user
    from askless.desk.live.reembed import jobs, start
    from askless.desk.live.switch import JobStatus

    with desks.database.read() as connection:
        for job in jobs(connection, desks.row(desk).id):
            if job.status is JobStatus.RUNNING and job.embedder == embedder:
                return job
    return start(desks, desk, embedder, user(), forget_vectors=forget_vectors)


def _followed(desks: Desks, desk: str, job: Job, show: Show) -> Job:
    """The job at its end: done here, or watched where another process does it until that leaves it."""
    from askless.desk.live.reembed import work
    from askless.desk.live.switch import JobStatus

    pause = threading.Event()
    while job.status is JobStatus.RUNNING:
        job = work(desks, desk, job.id, progress=show)
        show(job.done, job.total)
        if job.status is JobStatus.RUNNING:
            pause.wait(_POLL_SECONDS)
    return job
