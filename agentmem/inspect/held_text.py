"""Which field of the state, or the notes, holds a text that stands in no message, step by step."""

from __future__ import annotations

from agentmem.model import Field, Step


class Holder:
    """For one text, while its lane is walked through step by step."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._fields: tuple[Field, ...] | None = None
        self._notes: str | None = None
        self._now: str | None = None
        self._name: str | None = None
        self.spans: list[tuple[str, int, int]] = []

    def of(self, step: Step) -> str | None:
        """The name of what holds it at that step."""
        if step.fields is self._fields and step.notes is self._notes:
            return self._now
        self._fields, self._notes = step.fields, step.notes
        self._now = next((field.name for field in step.fields if self._text in field.value), None)
        if self._now is None and step.notes is not None and self._text in step.notes:
            self._now = "notes"
        return self._now

    def go_on(self, step: Step, held: str | None) -> None:
        """The text stands in no message of that step."""
        if held is not None and held == self._name:
            name, first, _ = self.spans[-1]
            self.spans[-1] = (name, first, step.number)
        elif held is not None:
            self.spans.append((held, step.number, step.number))
        self._name = held

    def break_(self) -> None:
        """The text stands in a message of that step."""
        self._name = None
