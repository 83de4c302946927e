"""A desk as a machine-learning backend of Label Studio: it predicts, and learns from each annotation as it is made.

These paths are Label Studio's protocol and not part of the API's document. Label Studio is given the address
`http://HOST:PORT/label-studio/DESK` and a key of an expert, as the password of HTTP Basic. The webhook that it then
makes by itself bears no password: it is given the header `Authorization: Bearer KEY` in the project's settings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from numpy.typing import NDArray

from askless.desk.live import examples, give
from askless.desk.live.desk import LiveDesk
from askless.desk.live.exchange import GivenExample
from askless.desk.live.types import Mode
from askless.desk.texts import normal
from askless.embed.run import embed_texts
from askless.errors import Conflicting, InvalidInput, Refused, Unknown, UnknownQuery
from askless.service.bodies import plain
from askless.service.errors import Problem
from askless.service.guard import Expert, TheService
from askless.service.label_studio import Annotated, Labelling, read_config, read_webhook, tasks_of
from askless.service.limits import LONGEST_TEXT, MOST_QUERIES
from askless.service.state import Service
from askless.types import Decision, Guess

router = APIRouter(prefix="/label-studio/{desk}", tags=["label studio"], include_in_schema=False)

_AT_ONCE = 64  # decisions in one operation: callers are served in between


@router.get("")
@router.get("/")
@router.get("/health")
async def health(service: TheService, at: Expert) -> Response:
    """That the desk is there, and that the key opens it."""
    await service.work(service.desks.row, at.desk)
    return JSONResponse({"status": "UP", "model_class": "askless"})


@router.post("/setup")
async def setup(service: TheService, at: Expert, request: Request) -> Response:
    """Whether the desk can serve the project: its labelling config is read, and refused with a reason."""
    payload = await _json(request)
    read_config(payload.get("schema"))
    return JSONResponse({"model_version": await service.change(at.desk, _version)})


@router.post("/predict")
async def predict(service: TheService, at: Expert, request: Request) -> Response:
    """One prediction for each task. Nothing is recorded: what the desk would ask comes back without a result.

    The score says how likely the label is; with a policy that has no probabilities it is 1 for a guess, 0 otherwise.
    Label Studio can order tasks by it, so that those the desk is least sure of are annotated first.
    """
    payload = await _json(request)
    labelling = read_config(payload.get("label_config"))
    texts = [_readable(labelling.text_of(task)) for task in tasks_of(payload, MOST_QUERIES)]
    results: list[dict[str, Any]] = []
    version = await service.change(at.desk, _version)  # which also says whether there is such a desk
    for start in range(0, len(texts), _AT_ONCE):
        decisions, version = await _decisions(service, at.desk, texts[start : start + _AT_ONCE])
        results += [_prediction(labelling, decision, version) for decision in decisions]
    return JSONResponse({"results": results, "model_version": version})


@router.post("/webhook", status_code=201)
async def webhook(service: TheService, at: Expert, request: Request) -> Response:
    """An annotation becomes an example, a changed one is relabelled, a deleted one forgotten. Twice is once."""
    changed = read_webhook(await _json(request))
    for annotation in changed:
        await _learn(service, at.desk, annotation, at.who)
    return JSONResponse({"annotations": len(changed)}, 201)


async def _json(request: Request) -> dict[str, Any]:
    try:
        payload = await asyncio.to_thread(plain, await request.body())
    except (ValueError, RecursionError):
        raise Problem(400, "The body is not JSON; Label Studio sends an object.") from None
    if not isinstance(payload, dict):
        raise InvalidInput("The body is JSON, but not an object, which is what Label Studio sends.")
    return payload


def _readable(text: str | None) -> str | None:
    """The text as a desk keeps it; None for what no desk takes."""
    if text is None or len(text) > LONGEST_TEXT or "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
        return None
    return normal(text) or None


def _version(desk: LiveDesk) -> str:
    """Another one after each event, so that Label Studio knows that predictions are old."""
    return f"{desk.row.name}:{desk.fold.last_event}"


async def _decisions(service: Service, name: str, texts: Sequence[str | None]) -> tuple[list[Decision | None], str]:
    """What the policy says of each text, None where it cannot say anything; and the version that said it."""
    known = [text for text in texts if text is not None]

    spec = await service.change(name, lambda desk: desk.settings.embedder)
    embedder = await service.work(service.desks.embedder, spec)
    rows = iter(await asyncio.to_thread(embed_texts, embedder, known) if known else ())

    def deciding(desk: LiveDesk) -> tuple[list[Decision | None], str]:
        if embedder.id != desk.row.embedder:
            raise Conflicting("The desk was switched to another embedder just now; ask again.")
        if desk.settings.paused:
            raise Refused(f"The desk {name!r} is paused; resume it, or try again later.")
        silent = desk.settings.mode is Mode.SHADOW  # where an annotator must not see what the desk thinks
        found = [None if text is None else _decided(desk, next(rows)) for text in texts]
        return [None] * len(found) if silent else found, _version(desk)

    return await service.change(name, deciding)


def _decided(desk: LiveDesk, x: NDArray[np.float32]) -> Decision | None:
    return None if np.isnan(x).any() else desk.fold.policy.decide(x)


def _prediction(labelling: Labelling, decision: Decision | None, version: str) -> dict[str, Any]:
    if isinstance(decision, Guess):
        score = 1.0 if decision.probability is None else decision.probability
        return labelling.prediction(str(decision.label), float(score), version)
    likely = [s.probability for s in decision.suggestions if s.probability is not None] if decision else []
    return labelling.prediction(None, float(max(likely, default=0.0)), version)


async def _learn(service: Service, name: str, annotation: Annotated, who: str) -> None:
    """Make the desk's examples say what the annotation says."""
    if annotation.label is None:
        try:
            await service.change(name, lambda desk: examples.forget(desk, annotation.id, who))
        except Unknown:
            return  # one that the desk never had
        return
    try:
        await service.change(name, lambda desk: examples.relabel(desk, annotation.id, str(annotation.label), who))
    except UnknownQuery:
        text = _readable(annotation.text)
        if text is None:
            raise InvalidInput(
                f"The task of the annotation {annotation.id!r} has no text that a desk can take (at most "
                f"{LONGEST_TEXT:,} characters, no NUL)."
            ) from None
        given = [GivenExample(text, annotation.label, annotation.id, 1)]
        await asyncio.to_thread(give.give, service.desks, name, given, who)
