"""The embedder of a desk, and the job that changes it."""

from __future__ import annotations

from nicegui import ui

from askless.desk.live import reembed
from askless.desk.live.desk import LiveDesk
from askless.desk.live.switch import Job, JobStatus
from askless.service.pages.dialogs import sure
from askless.service.pages.parts import words
from askless.service.pages.said import Said
from askless.service.pages.seat import Seat

_OFFERED = ("wordllama", "wordllama:64", "wordllama:128", "wordllama:256", "minilm")


class Embedder:
    """What makes vectors of the texts; changed by a job in the background, with its progress."""

    def __init__(self, seat: Seat, said: Said) -> None:
        self._seat, self._said = seat, said
        self._job: Job | None = None
        with ui.element("section").classes("card setting-group").props("aria-labelledby=title-embedder"):
            words("h2", "Embedder").props("id=title-embedder")
            words(
                "p",
                "What turns texts into the vectors that the desk compares. Another one embeds all stored texts anew in "
                "the background; the desk works on meanwhile and is switched when that is done.",
            ).classes("soft")
            self._now = words("p", "").classes("text")
            with ui.element("div").classes("ask-tools") as self._start:
                self._field = ui.select(list(_OFFERED), label="Another embedder").props("outlined dense")
                ui.button("Embed anew", on_click=self._begin).props("outline no-caps")
            with ui.element("div").classes("job") as self._running:
                self._how_far = words("p", "").props("role=status")
                self._bar = ui.linear_progress(0, show_value=False).props('aria-label="Texts embedded"')
                ui.button("Stop it", on_click=self._stop).props("outline no-caps dense")
            self._ended = words("p", "").classes("text").props("role=status")

    async def renew(self) -> None:
        """Show how far the job is."""
        spec, vectors = await self._seat.change(_made_by)
        jobs = await self._seat.read_desk(reembed.jobs)
        self._job = jobs[0] if jobs else None
        self._now.set_text(f"Now: {spec} ({vectors})")
        running = self._job is not None and self._job.status is JobStatus.RUNNING
        self._start.set_visibility(not running)
        self._running.set_visibility(running)
        self._ended.set_text("" if self._job is None or running else _end_in_words(self._job))
        if self._job is not None and running:
            done, total = self._job.done, self._job.total
            self._how_far.set_text(f"{done:,} of {total:,} texts are embedded with {self._job.embedder}.")
            self._bar.set_value(done / total if total else 0.0)

    async def _begin(self) -> None:
        spec = self._field.value
        if spec is None:
            self._seat.say("Choose the embedder to change to first.", wrong=True)
            return
        text = f"All stored texts are embedded with {spec}. The desk decides with it once that is done."
        if not await sure(self._seat, "Change the embedder?", text, yes="Embed anew"):
            return
        with self._seat.telling():
            start, desk, who = self._seat.service.reembedding.start, self._seat.desk, self._seat.who
            self._ended.set_text(f"Loading {spec} …")
            try:
                job = await self._seat.work(start, desk, str(spec), who)
            finally:
                self._ended.set_text("")
            self._said(f"{job.total:,} texts are being embedded with {spec}.")
            await self.renew()

    async def _stop(self) -> None:
        job = self._job
        if job is None:
            return
        with self._seat.telling():
            await self._seat.work(reembed.cancel, self._seat.service.desks, self._seat.desk, job.id, self._seat.who)
            await self.renew()


def _made_by(desk: LiveDesk) -> tuple[str, str]:
    return desk.settings.embedder, desk.row.embedder


def _end_in_words(job: Job) -> str:
    how = {
        JobStatus.DONE: f"The desk was switched to {job.embedder}; {job.done:,} texts were embedded.",
        JobStatus.CANCELLED: f"The change to {job.embedder} was stopped; nothing was changed.",
    }
    return how.get(job.status, f"The change to {job.embedder} failed, and nothing was changed: {job.error}")
