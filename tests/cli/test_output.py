"""A document is the same bytes whether its lists are held or come one by one, and a long one is never held."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pytest

from agentmem.cli.output import document

ODD = ["plain", "Grüße", "\u202e reversed", "\x7f", '"quoted"', "\ufeff", "line\u2028end"]


class Written(io.BytesIO):
    """Standard output whose bytes can be looked at."""

    @property
    def buffer(self) -> Written:
        return self


@pytest.mark.parametrize("items", [[], ["a"], ODD, [{"n": n, "text": text} for n, text in enumerate(ODD)]])
def test_items_that_come_one_by_one_are_a_list(
    capsysbinary: pytest.CaptureFixture[bytes], items: list[object]
) -> None:
    document("drops", {"first": 1, "drops": list(items), "Grüße": None})
    held = capsysbinary.readouterr().out
    document("drops", {"first": 1, "drops": iter(items), "Grüße": None})
    assert capsysbinary.readouterr().out == held
    assert json.loads(held) == {"schema": "agentmem.drops/1", "first": 1, "drops": items, "Grüße": None}


def test_what_was_made_is_written_before_the_last_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Written()
    monkeypatch.setattr("sys.stdout", out)
    behind: list[int] = []

    def texts() -> Iterator[str]:
        for number in range(64):
            behind.append(number * 100_000 - len(out.getvalue()))
            yield f"{number:05d}" * 20_000

    document("drops", {"drops": texts()})
    assert max(behind) < 2_000_000 < len(out.getvalue())
    assert len(json.loads(out.getvalue())["drops"]) == 64


def test_a_small_document_that_cannot_be_made_is_not_begun(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    def texts() -> Iterator[str]:
        yield "made"
        raise KeyError("lane")

    with pytest.raises(KeyError):
        document("drops", {"drops": texts()})
    assert capsysbinary.readouterr().out == b""
