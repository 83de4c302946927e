"""The least a durable service can do: a FastAPI route that inserts one row, on a database with askless's settings.

Run as `python -m benchmarks.bare_service FILE PORT`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sqlalchemy import Column, Integer, MetaData, Table, Text, insert

from askless.ledger.database import Database

metadata = MetaData()
rows = Table("bare_rows", metadata, Column("id", Integer, primary_key=True), Column("key", Text), Column("text", Text))


class Body(BaseModel):
    """What the route takes."""

    id: str
    text: str


def app(path: Path) -> FastAPI:
    """The application: one route."""
    database = Database(path)
    with database.write() as connection:
        metadata.create_all(connection)
    made = FastAPI()

    @made.post("/rows")
    async def add(body: Body) -> dict[str, str]:  # no thread pool: that would be slower with one writer
        with database.write() as connection:
            connection.execute(insert(rows), {"key": body.id, "text": body.text})
        return {"id": body.id}

    return made


if __name__ == "__main__":
    uvicorn.run(app(Path(sys.argv[1])), host="127.0.0.1", port=int(sys.argv[2]), log_level="warning", access_log=False)
