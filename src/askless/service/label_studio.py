"""Label Studio's protocol for machine-learning backends, as its open edition speaks it (seen with 1.23).

    GET  /health    is it there                                      -> {"status": "UP"}
    POST /setup     {"project", "schema": the labelling config}      -> {"model_version"}
    POST /predict   {"tasks": [{"id", "data"}], "label_config"}      -> {"results": [one for each task]}
    POST /webhook   {"action", "annotation", "task", "project"}      what an annotator did

This module reads and writes these shapes; the routes connect them with a desk. Label Studio says of a deleted
annotation its own number and nothing else, neither the task nor the text, so an example bears the annotation's number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from askless.errors import InvalidInput

_TEXTS = ("Text", "HyperText", "Paragraphs")
_LONGEST_CONFIG = 200_000  # characters
_MADE = frozenset({"ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED"})
_DELETED = "ANNOTATIONS_DELETED"


@dataclass(frozen=True, slots=True)
class Labelling:
    """Where a project's labels go: the names of its <Choices> and of the text they are about, and the text's field.

    `choices` is empty where each task brings its own: then any label may be given.
    """

    from_name: str
    to_name: str
    field: str
    choices: frozenset[str]

    def text_of(self, task: Mapping[str, Any]) -> str | None:
        """The text of a task; None where it has none."""
        data = task.get("data")
        value = data.get(self.field) if isinstance(data, Mapping) else None
        return value if isinstance(value, str) and value.strip() else None

    def label_of(self, annotation: Mapping[str, Any]) -> str | None:
        """The one choice of an annotation; None where it was skipped or nothing was chosen."""
        results = annotation.get("result")
        if annotation.get("was_cancelled") or not isinstance(results, list):
            return None
        for result in results:
            if isinstance(result, Mapping) and (result.get("type"), result.get("from_name")) == (
                "choices",
                self.from_name,
            ):
                return _single(result.get("value"))
        return None

    def prediction(self, label: str | None, score: float, model_version: str) -> dict[str, Any]:
        """One task's prediction; without a result where there is no label, or none that this project offers."""
        known = label is not None and (not self.choices or label in self.choices)
        chosen = {
            "from_name": self.from_name,
            "to_name": self.to_name,
            "type": "choices",
            "value": {"choices": [label]},
        }
        return {"result": [chosen] if known else [], "score": score, "model_version": model_version}


def read_config(xml: Any) -> Labelling:
    """Find the <Choices> of a labelling config and the text they are about.

    The first <Choices> counts. XML that declares entities or a document type is refused: a few lines of it can
    unfold to gigabytes, or name files.
    """
    root = _parsed(xml)
    parts = {element.get("name"): element for element in root.iter() if element.tag in _TEXTS}
    for choices in root.iter("Choices"):
        text = parts.get(choices.get("toName"))
        if text is None:
            continue
        if choices.get("choice", "single").startswith("multiple"):
            raise InvalidInput(
                'This labelling config lets a text have several choices (choice="multiple"); a desk gives each text '
                'one label. Set choice="single".'
            )
        return Labelling(_name(choices), _name(text), _field(text), frozenset(_values(choices)))
    raise InvalidInput(
        "This labelling config has no <Choices> about a <Text>, which is what a desk can answer; expected something "
        'like <Text name="text" value="$text"/> with <Choices name="topic" toName="text">.'
    )


@dataclass(frozen=True, slots=True)
class Annotated:
    """An annotation as it stands now: the example's id, its text, its label; a label of None takes it back."""

    id: str
    text: str | None
    label: str | None


def read_webhook(payload: Mapping[str, Any]) -> list[Annotated]:
    """What a webhook's payload says of annotations; nothing for the other things Label Studio tells of."""
    action = payload.get("action")
    if action == _DELETED:
        return [Annotated(example_id(row), None, None) for row in _rows(payload, "annotations")]
    if action not in _MADE:
        return []
    project = payload.get("project")
    labelling = read_config(project.get("label_config") if isinstance(project, Mapping) else None)
    rows, tasks = _rows(payload, "annotation"), _rows(payload, "task")
    if len(rows) != len(tasks):
        raise InvalidInput(
            f"Label Studio's webhook has {len(rows)} annotations and {len(tasks)} tasks; expected one task for each. "
            'Keep "Send payload" switched on in the webhook\'s settings.'
        )
    return [
        Annotated(example_id(row), labelling.text_of(task), labelling.label_of(row))
        for row, task in zip(rows, tasks, strict=True)
    ]


def example_id(annotation: Mapping[str, Any]) -> str:
    """The id under which a desk has the example that an annotation made."""
    number = annotation.get("id")
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 1 << 63:
        raise InvalidInput("An annotation of Label Studio has a whole number as its id; this one has none.")
    return f"label-studio:{number}"


def tasks_of(payload: Mapping[str, Any], most: int) -> list[Mapping[str, Any]]:
    """The tasks of a request for predictions."""
    tasks = payload.get("tasks")
    if not isinstance(tasks, list) or not all(isinstance(task, Mapping) for task in tasks):
        raise InvalidInput('A request for predictions has "tasks", a list of objects with "data".')
    if len(tasks) > most:
        raise InvalidInput(f"There are {len(tasks):,} tasks in this request; at most {most:,} are taken at once.")
    return tasks


def _parsed(xml: Any) -> Element:
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    if not isinstance(xml, str) or not xml.strip():
        raise InvalidInput("There is no labelling config; Label Studio sends the project's as XML.")
    if len(xml) > _LONGEST_CONFIG:
        raise InvalidInput(f"The labelling config is longer than {_LONGEST_CONFIG:,} characters.")
    try:
        root: Element = fromstring(xml, forbid_dtd=True)
    except DefusedXmlException:
        raise InvalidInput("The labelling config declares a document type or entities, which is refused.") from None
    except (ParseError, ValueError) as error:
        raise InvalidInput(f"The labelling config is not XML: {error}.") from None
    return root


def _name(element: Element) -> str:
    name = element.get("name")
    if not name:
        raise InvalidInput(f"A <{element.tag}> of the labelling config has no name.")
    return name


def _field(text: Element) -> str:
    value = text.get("value", "")
    if not value.startswith("$") or len(value) < 2:
        raise InvalidInput(
            f"The <{text.tag}> of the labelling config has value={value!r}; expected the field of a task, as $text."
        )
    if text.get("valueType") == "url":
        raise InvalidInput(
            f'The <{text.tag}> of the labelling config has valueType="url"; a desk fetches nothing, it needs the text '
            "itself in the task."
        )
    return value[1:]


def _values(choices: Element) -> Iterator[str]:
    """What a choice is called in results: its alias, where it has one. None where tasks bring their own choices."""
    if choices.get("value"):
        return
    for choice in choices.iter("Choice"):
        name = choice.get("alias") or choice.get("value")
        if name:
            yield name


def _single(value: Any) -> str | None:
    chosen = value.get("choices") if isinstance(value, Mapping) else None
    if not isinstance(chosen, Sequence) or isinstance(chosen, str) or not chosen:
        return None
    if len(chosen) > 1 or not isinstance(chosen[0], str):
        raise InvalidInput(f"An annotation has {len(chosen)} choices; a desk gives each text one label.")
    return chosen[0]


def _rows(payload: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """One object or a list of them: Label Studio sends both under the same name."""
    found = payload.get(name)
    rows = found if isinstance(found, list) else [] if found is None else [found]
    if not all(isinstance(row, Mapping) for row in rows):
        raise InvalidInput(f'"{name}" of Label Studio\'s webhook is an object or a list of objects.')
    return rows
