"""The scratchpad: a notes file that the model writes with the `write_notes` tool, outside the messages.

What stands in it survives any trimming, because no policy sees it; `render` puts it into the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentmem import safe
from agentmem.checkpoint import durable
from agentmem.checkpoint.given import number
from agentmem.checkpoint.store import CheckpointError
from agentmem.ledger.given import only_text
from agentmem.memory.fence import guard_headings
from agentmem.memory.files import FileError, place, read_whole, write_whole

NAME = "write_notes"
_DESCRIPTION = (
    "Write to your notes. They stay in view when older messages are removed: keep there what you must not lose. "
    "'append' adds a line, 'replace' makes the text all that your notes hold."
)
_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "What to write."},
        "mode": {"type": "string", "enum": ["append", "replace"], "description": "Default: append."},
    },
    "required": ["text"],
    "additionalProperties": False,
}


def openai_tool() -> dict[str, Any]:
    """The tool in the shape of OpenAI chat requests."""
    return {"type": "function", "function": {"name": NAME, "description": _DESCRIPTION, "parameters": _PARAMETERS}}


def anthropic_tool() -> dict[str, Any]:
    """The tool in the shape of Anthropic requests."""
    return {"name": NAME, "description": _DESCRIPTION, "input_schema": _PARAMETERS}


class Notes:
    """A notes file, written whole or not at all, private to the user."""

    def __init__(self, path: str | Path, most: int = 20_000) -> None:
        """`most`: how many characters the notes may hold. Raises TypeError for what is no path, ValueError."""
        number(most, "notes: most", whole=True)
        self.path = place(path, "notes: path")
        self.most = most

    def read(self) -> str:
        """What the notes hold; "" before the first write. Raises FileError for what is no file of UTF-8 text."""
        data = read_whole(self.path)
        try:
            return "" if data is None else data.decode()
        except UnicodeDecodeError as error:
            raise FileError(f"{self.path}: no UTF-8 at byte {error.start}") from None

    def replace(self, text: str) -> None:
        """Make `text` all that the notes hold. Raises ValueError for more than `most` characters, FileError, and
        TypeError for what is no text."""
        only_text(text, "notes: text")
        with self._alone():
            self._write(text)

    def append(self, text: str) -> None:
        """Add `text` as a line of its own. Raises as `replace` does."""
        only_text(text, "notes: text")
        with self._alone():
            held = self.read()
            self._write(f"{held}\n{text}" if held else text)

    def _write(self, text: str) -> None:
        if len(text) > self.most:
            raise ValueError(
                f"notes of {len(text)} characters are more than {self.most}: replace them by a shorter text"
            )
        write_whole(self.path, safe.encodable(text).encode())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other writer in between, of this process or another: calls of one step may be made side by side."""
        path = self.path.absolute()
        try:
            durable.make_folder(path.parent)
            with durable.locked(path.with_name(f".{path.name}.lock"), str(path)):
                yield
        except CheckpointError as error:
            raise FileError(str(error)) from None
        except OSError as error:
            raise FileError(f"{path}: cannot be written: {error.strerror} (errno {error.errno})") from error

    def call(self, arguments: str | Mapping[str, Any]) -> str:
        """Do what a `write_notes` call asks (its arguments as JSON text or as an object) and return the tool's answer.

        Wrong arguments are answered with an error for the model, not raised.
        """
        try:
            given = json.loads(arguments) if isinstance(arguments, str) else arguments
        except (ValueError, RecursionError) as error:
            return f"Error: the arguments are not JSON: {error}"
        match given:
            case {"text": str(text), "mode": "replace"}:
                write = self.replace
            case {"text": str(text), **rest} if rest.get("mode", "append") == "append":
                write = self.append
            case _:
                return "Error: write_notes takes a text and a mode, 'append' or 'replace'"
        try:
            write(text)
            return f"Notes saved, {len(self.read())} characters."
        except (ValueError, FileError) as error:
            return f"Error: {error}"

    def render(self) -> str:
        """`Notes:` and the notes, with no line that could be read as a heading of the state; "" if there are none."""
        held = self.read()
        return f"Notes:\n{guard_headings(held)}" if held else ""
