"""The bodies and parameters of requests, read strictly: no number for a text, no unknown field."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from askless.service import patterns
from askless.service.limits import LONGEST_ID, LONGEST_TEXT, LONGEST_VECTOR, MOST_QUERIES


def _not_reserved(id: str) -> str:
    if id == "batch":
        raise ValueError("The id 'batch' is a path of the service; choose another.")
    return id


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 300.0 is as whole as 300."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


# The bounds stand before the validator: after it they would reach the check, but not the OpenAPI document.
LabelNumber = Annotated[int, Field(ge=1, le=2**31 - 1), BeforeValidator(_whole)]
LeaseSeconds = Annotated[int, Field(ge=1, le=7 * 24 * 3600), BeforeValidator(_whole)]
RetentionDays = Annotated[int, Field(ge=1, le=36_500), BeforeValidator(_whole)]
QueryId = Annotated[str, Field(min_length=1, max_length=LONGEST_ID, pattern=patterns.ID), AfterValidator(_not_reserved)]
QueryIdPath = Annotated[
    str,
    Path(min_length=1, max_length=LONGEST_ID, pattern=patterns.ID, description="The caller's own id of the query."),
]
QueryText = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT, pattern=patterns.READABLE)]
LabelName = Annotated[str, Field(min_length=1, max_length=200, pattern=patterns.LINE)]
AnswerText = Annotated[str, Field(max_length=10_000, pattern=patterns.TEXT)]
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
Limit = Annotated[int, Query(ge=1, le=500, description="How many at most.")]
Cursor = Annotated[
    str | None,
    Query(pattern=patterns.CURSOR, description="`next` of the page before; none for the first page."),
]
Status = Literal["guessed", "asked", "answered", "given"]
TicketStatusName = Literal["open", "answered", "withdrawn"]
Vector = Annotated[
    list[Annotated[float, Field(allow_inf_nan=False, ge=-1e15, le=1e15)]],
    Field(min_length=1, max_length=LONGEST_VECTOR, description="Of the desk's embedder, with its dimension."),
]


class Body(BaseModel):
    """A request's body: strict, and nothing in it that is not known."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewQueryBody(Body):
    """One query: a text, or a vector of the desk's embedder, or both."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": ["text"], "properties": {"text": {"type": "string"}}},
                {"required": ["vector"], "properties": {"vector": {"type": "array"}}},
            ],
            "examples": [{"id": "mail-4711", "text": "How do I change my password?"}],
        }
    )
    id: QueryId | None = Field(
        default=None, description="Your own id: sent again, the same query gets the same outcome. Made where absent."
    )
    text: QueryText | None = None
    vector: Vector | None = None

    @model_validator(mode="after")
    def _holds_something(self) -> NewQueryBody:
        if self.text is None and self.vector is None:
            raise ValueError("A query needs a text or a vector.")
        return self


class BatchBody(Body):
    """Many queries at once."""

    queries: list[NewQueryBody] = Field(min_length=1, max_length=MOST_QUERIES)


class FeedbackBody(Body):
    """That a guess is wrong, and which label would be right where the asker knows it."""

    right: LabelName | None = None


class AnswerBody(Body):
    """An expert's answer: a label that is known, or a new one; with `answer`, the text sent to askers from now on."""

    label: LabelName
    answer: AnswerText | None = None


class LabelBody(Body):
    """A new label."""

    name: LabelName
    answer: AnswerText | None = None


class LabelChangeBody(Body):
    """What to change about a label."""

    name: LabelName | None = None
    answer: AnswerText | None = None


class MergeBody(Body):
    """The number of the label that takes the examples."""

    into: LabelNumber


class ExampleBody(Body):
    """A text whose label is known."""

    id: QueryId | None = None
    text: QueryText
    label: LabelName


class ExamplesBody(Body):
    """Examples known before."""

    examples: list[ExampleBody] = Field(min_length=1, max_length=MOST_QUERIES)


class RelabelBody(Body):
    """The label that is right."""

    label: LabelName


class CostsBody(Body):
    """The paper's rewards: for a call to the expert, for a right and for a wrong guess; call < right, wrong < call."""

    call: float = Field(default=-1.0, ge=-1e6, le=1e6, allow_inf_nan=False)
    right: float = Field(default=1.0, ge=-1e6, le=1e6, allow_inf_nan=False)
    wrong: float = Field(default=-10.0, ge=-1e6, le=1e6, allow_inf_nan=False)


class SettingsBody(Body):
    """Settings of a desk; what is absent stays as it is."""

    policy: str | None = Field(default=None, pattern=patterns.POLICY, examples=["self-tuning", "ghc:0.9"])
    costs: CostsBody | None = None
    audit_rate: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    mode: Literal["live", "shadow"] | None = None
    when_able: Literal["withdraw", "offer"] | None = None
    lease_seconds: LeaseSeconds | None = None
    retention_days: RetentionDays | None = Field(default=None, description="null: queries are kept for ever.")
    retain_examples: bool | None = None
    share_examples: bool | None = Field(
        default=None,
        description="Whether callers with a client's key see the texts and ids of the examples behind a guess.",
    )


class DeskChangeBody(SettingsBody):
    """Settings of a desk that is there; what is absent stays as it is. Its embedder has a route of its own."""

    @model_validator(mode="before")
    @classmethod
    def _names_no_embedder(cls, sent: Any) -> Any:
        if isinstance(sent, dict) and "embedder" in sent:
            raise ValueError(
                "The embedder is no setting: POST it to the desk's path /embedder, which embeds all texts again and "
                "then switches (`askless desk reembed`, or `reembed` of the client)."
            )
        return sent


class NewDeskBody(SettingsBody):
    """A new desk."""

    name: str = Field(pattern=patterns.DESK, examples=["support"])
    embedder: str | None = Field(default=None, pattern=patterns.EMBEDDER)


class EmbedderBody(Body):
    """Another embedder for a desk. What came without a text cannot follow: `forget_vectors` lets it go.

    That is examples, and open questions, from whose answers nothing is learned then.
    """

    embedder: str = Field(pattern=patterns.EMBEDDER)
    forget_vectors: bool = False


class LoginBody(Body):
    """A key to log in with."""

    key: str = Field(min_length=1, max_length=200)


class NewKeyBody(Body):
    """A new key; bound to one desk where that is named."""

    name: str = Field(min_length=1, max_length=100, pattern=patterns.KEY_NAME)
    role: Literal["client", "expert", "admin"]
    desk: str | None = Field(default=None, pattern=patterns.DESK)
