"""Labels: list, make, change, merge, delete."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from askless.desk.live import labels
from askless.desk.live.desk import LiveDesk
from askless.desk.live.types import LabelRow
from askless.service.errors import problems
from askless.service.guard import Expert, TheService
from askless.service.results import LabelOut, LabelsOut
from askless.service.schemas import LabelBody, LabelChangeBody, MergeBody, Number
from askless.service.shown import label_shown

router = APIRouter(prefix="/desks/{desk}/labels", tags=["labels"], responses=problems(409))


@router.get("", summary="List labels", response_model=LabelsOut)
async def list_all(service: TheService, at: Expert) -> Response:
    """All labels with their answer texts and the number of their examples."""
    rows = await service.read_desk(at.desk, labels.rows)
    return JSONResponse({"items": [label_shown(row) for row in rows]})


@router.post("", summary="Make a label", status_code=201, response_model=LabelOut)
async def create(service: TheService, at: Expert, body: LabelBody) -> Response:
    """Make a label without examples."""
    made = await service.change(at.desk, lambda desk: labels.create(desk, body.name, body.answer, at.who))
    return JSONResponse(label_shown(made), 201)


@router.patch("/{number:int}", summary="Change a label", response_model=LabelOut)
async def change(service: TheService, at: Expert, number: Number, body: LabelChangeBody) -> Response:
    """Another name, another answer text, or both; `"answer": null` takes the answer text away."""

    def changing(desk: LiveDesk) -> LabelRow:
        row = labels.find(desk.entry.connection, desk.row.id, number)
        if body.name is not None:
            row = labels.rename(desk, number, body.name, at.who)
        if "answer" in body.model_fields_set:
            row = labels.set_answer(desk, number, body.answer, at.who)
        return row

    return JSONResponse(label_shown(await service.change(at.desk, changing)))


@router.post("/{number:int}/merge", summary="Merge a label into another", response_model=LabelOut)
async def merge(service: TheService, at: Expert, number: Number, body: MergeBody) -> Response:
    """All that has this label has the other from now on."""
    kept = await service.change(at.desk, lambda desk: labels.merge(desk, number, body.into, at.who))
    return JSONResponse(label_shown(kept))


@router.delete("/{number:int}", summary="Delete a label", status_code=204)
async def delete(service: TheService, at: Expert, number: Number) -> Response:
    """Delete a label: its examples are forgotten, queries keep what they were answered."""
    await service.change(at.desk, lambda desk: labels.delete_label(desk, number, at.who))
    return Response(status_code=204)
