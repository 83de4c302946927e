"""What `askless serve` says once it answers: where it is, and lines to paste."""

from __future__ import annotations

import json
from dataclasses import dataclass

from askless.cli import serve_sample
from askless.desk.sample import ANSWERS
from askless.service.config import database_option


@dataclass(frozen=True, slots=True)
class Greeting:
    """`key` is the secret of the first key, where this start made it; it can be shown at no other time.

    `sample`: the desk was filled with the sample just now, and the next ticket is the first one. `pages`: whether this
    service has them; one with several processes has not, since a page lives in one of them.
    """

    address: str
    database: str
    desk: str
    key: str | None
    sample: bool
    pages: bool

    def lines(self) -> list[str]:
        """All of it, a line each."""
        said = [f"askless listens on {self.address} (database {self.database}); Ctrl-C stops it."]
        if self.key is None:
            another = f"askless keys create NAME --role expert{database_option(self.database)}"
            said.append(f"Keys are in the database; `{another}` makes another one.")
        else:
            said.append(f"First admin key, shown this once: {self.key}")
        return [*said, *self._pages(), "", *(self._play() if self.sample else self._try())]

    def _pages(self) -> list[str]:
        """Where the inbox is. A browser does not send what follows the #, so that the key is in no log."""
        if not self.pages:
            another = f"askless serve --port 8401{database_option(self.database)}"
            return [f"The inbox needs a service of one process: `{another}` starts one beside this."]
        if self.key is None:
            return [f"The inbox is at {self.address}/"]
        return [f"Open the inbox: {self.address}/login#{self.key}"]

    def _try(self) -> list[str]:
        ask = self._curl("queries", {"text": "Where is my parcel?"})
        return ["Post a question from another terminal:", *self._key_line(), f"  {ask}"]

    def _play(self) -> list[str]:
        answer = {"label": serve_sample.LABEL, "answer": serve_sample.ANSWER}
        return [
            f"The desk {self.desk} knows {len(ANSWERS)} kinds of question. Paste these into another "
            "terminal, one after the other:",
            "a question that it has to ask, what the expert says, and a question like it, which it then guesses.",
            *self._key_line(),
            f"  {self._curl('queries', {'text': serve_sample.ASKED})}",
            f"  {self._curl('tickets/1/answer', answer)}",
            f"  {self._curl('queries', {'text': serve_sample.GUESSED})}",
        ]

    def _key_line(self) -> list[str]:
        return [f"  KEY={self.key or '...'}"]

    def _curl(self, path: str, body: dict[str, str]) -> str:
        url = f"{self.address}/api/v1/desks/{self.desk}/{path}"
        headers = "-H \"Authorization: Bearer $KEY\" -H 'Content-Type: application/json'"
        return f"curl -s -w '\\n' {headers} {url} -d '{json.dumps(body)}'"
