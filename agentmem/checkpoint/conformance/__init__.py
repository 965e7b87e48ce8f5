"""What every store must do, as plain functions, to be run over one's own store.

    import pytest
    from agentmem.checkpoint.conformance import CHECKS

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_store(check, tmp_path):
        check(lambda: MyStore(tmp_path / "runs"))

A check takes a function that opens the store: every call gives another view of the same place, as another process would
have it. The place is empty when a check begins. A check that fails raises AssertionError and says what was expected.
None needs a package beside this library; each takes a fraction of a second on a local store.
"""

from __future__ import annotations

from agentmem.checkpoint.conformance.calls import CALLS
from agentmem.checkpoint.conformance.forgetting import FORGETTING
from agentmem.checkpoint.conformance.reading import READING
from agentmem.checkpoint.conformance.saving import SAVING
from agentmem.checkpoint.conformance.share import Check, Open

CHECKS: tuple[Check, ...] = (*SAVING, *READING, *FORGETTING, *CALLS)
"""Every check: saving and resuming, reading by step, run and time, forgetting, guarded calls."""

__all__ = ["CALLS", "CHECKS", "FORGETTING", "READING", "SAVING", "Check", "Open"]
