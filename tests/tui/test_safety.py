"""What a transcript contains is text and nothing else: no markup is read, no escape sequence reaches the terminal."""

from __future__ import annotations

import pytest

from tests.tui.builders import story
from tests.tui.seen import inspecting
from tui.keys import PANE_IDS

_PARTS = {
    "markup": "[bold red]x[/bold red] [@click=app.quit]y[/] [/nothing] [link=https://example.org]z[/link]",
    "broken markup": "[/] [[ ]] \\[ [$error]q[/$error] {x} %s",
    "escapes": "\x1b[2J\x1b]52;c;aGk=\x07\x1b]8;;http://example.org\x07link\x1b]8;;\x07\x1bc",
    "controls": "\x00\x07\x08\x0b\x0c\r\x7f\x9b31m\x9d0;title\x9c",
    "direction": "\u202e\u2066abc\u2069\u200f\u2028\u2029\ufeff",
    "surrogate": "\ud800 \udfff",
    "wide": "漢字 👩‍👩‍👧 é 🇩🇪" * 20,
    "long": "A" * 20_000,
    "tags": "\U000e0041\U000e0042",
}
PAYLOADS = {
    "markup": _PARTS["markup"] + _PARTS["broken markup"],
    "controls": "".join(_PARTS[name] for name in ("escapes", "controls", "direction", "surrogate", "tags")),
    "size": _PARTS["wide"] + _PARTS["long"],
}
FORBIDDEN = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))} | set("\u202e\u2066\u2069\u200f\u2028\ufeff")


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
@pytest.mark.parametrize("size", [(80, 24), (150, 45)], ids=["80x24", "150x45"])
async def test_hostile_text_is_shown_and_does_nothing(payload: str, size: tuple[int, int]) -> None:
    """You should see every pane, with marks in place of what could act."""
    async with inspecting(story(hostile=payload, path=f"/tmp/{payload[:40]}.json"), size=size) as seen:
        for number, _ in enumerate(PANE_IDS, 1):
            await seen.press(str(number), "equals_sign", "up", "left", "w", "i")
            _check(seen.rows, size[0])
            await seen.press("escape")
        await seen.press("2", "end", "r")
        await seen.press("escape", "slash", *"pytest", "escape", "R")
        _check(seen.rows, size[0])
        assert seen.app.is_running


def _check(rows: list[str], width: int) -> None:
    from rich.cells import cell_len

    for row in rows:
        assert not FORBIDDEN.intersection(row), f"{row!r} could act on a terminal"
        assert cell_len(row) == width, f"{row!r} is not {width} cells wide"


async def test_a_copy_holds_no_control_character(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """You should see where the copy went; the file holds visible marks."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    async with inspecting(story(hostile=_PARTS["escapes"])) as seen:
        await seen.press("x", "y")
        await seen.until("clipboard (OSC 52) and to")
        from pathlib import Path

        path = Path(str(tmp_path)) / "agentmem" / "copied.txt"
        copied = path.read_text(encoding="utf-8")
        assert "replay_order" in copied and "\x1b" not in copied and "\x07" not in copied
        assert path.stat().st_mode & 0o777 == 0o600
        assert "\x1b" not in seen.app.clipboard
