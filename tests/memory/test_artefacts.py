"""Artefacts: large results leave the prompt for a file and can be got back exactly."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentmem.memory.artefacts import Artefact, ArtefactError, Artefacts, by_reference
from agentmem.memory.messages import orphans, protected

from .conversations import Message, conversations


@given(st.text(st.characters(codec=None)) | st.binary())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_kept_comes_back_exactly(tmp_path: Path, content: str | bytes) -> None:
    artefacts = Artefacts(tmp_path / "a")
    kept = artefacts.put(content)
    assert (artefacts.text(kept) if isinstance(content, str) else artefacts.get(kept)) == content
    assert artefacts.put(content) == kept


def test_the_reference_names_path_size_and_digest(tmp_path: Path) -> None:
    kept = Artefacts(tmp_path).put("ş" * 10)
    digest = sha256(("ş" * 10).encode()).hexdigest()
    assert kept.reference == f"[artefact: {tmp_path / digest[:32]}.txt, 20 bytes, sha256 {digest}]"


def test_a_file_that_is_gone_or_changed_is_said(tmp_path: Path) -> None:
    artefacts = Artefacts(tmp_path)
    kept = artefacts.put("text")
    Path(kept.path).write_text("other")
    with pytest.raises(ArtefactError, match="not what was kept"):
        artefacts.get(kept)
    assert artefacts.put("text") == kept and artefacts.text(kept) == "text", "kept again, it is whole again"
    Path(kept.path).unlink()
    with pytest.raises(ArtefactError, match="is gone"):
        artefacts.get(kept)


@given(messages=conversations(10))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_long_result_is_replaced_with_a_drop_and_can_be_read_back(
    tmp_path: Path, messages: list[Message]
) -> None:
    artefacts = Artefacts(tmp_path)
    kept, drops = by_reference(messages, artefacts=artefacts, over=600)
    assert orphans(kept) == () and len(kept) == len(messages)
    assert all(kept[i] == messages[i] for i in protected(messages))
    changed = [(a, b) for a, b in zip(messages, kept, strict=True) if a != b]
    assert bool(changed) == bool(drops)
    for drop in drops:
        assert drop.cause == "replaced" and drop.recorded and drop.text is not None and len(drop.text) > 600
        digest = sha256(drop.text.encode()).hexdigest()
        path = str(tmp_path / f"{digest[:32]}.txt")
        assert artefacts.text(Artefact(path, len(drop.text), digest)) == drop.text
        assert drop.record is not None and path in drop.record
    assert by_reference(kept, artefacts=artefacts, over=600) == (kept, ())


def test_a_limit_below_the_size_of_a_reference_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 500"):
        by_reference([], artefacts=Artefacts(tmp_path), over=100)


def test_a_reference_that_is_long_itself_is_not_kept_as_a_result(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["long" * 30] * 5)
    messages: list[Message] = [{"role": "tool", "tool_call_id": "c", "content": "x" * 900}]
    kept, gone = by_reference(messages, artefacts=Artefacts(folder), over=500)
    assert len(kept[0]["content"]) > 500 and len(gone) == 1
    assert by_reference(kept, artefacts=Artefacts(folder), over=500) == (kept, ())
    assert len(list(folder.iterdir())) == 1
