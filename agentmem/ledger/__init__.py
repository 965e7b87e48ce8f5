"""The attempt ledger: what was tried, what came of it, and whether it goes in circles.

Pure. The agent uses `Ledger` while it runs; the inspector feeds a `Detector` with the attempts of any lane.
"""

from __future__ import annotations

from agentmem.ledger.answers.result import error_line, error_prefix, failure, mask, result_key
from agentmem.ledger.attempt import make_attempt
from agentmem.ledger.detect import Detector
from agentmem.ledger.edits import Edit, find_edits
from agentmem.ledger.effect import effect, is_waiting
from agentmem.ledger.live import Ledger, Verdict
from agentmem.ledger.signature import canonical_arguments, code_signature, signature

__all__ = [
    "Detector", "Edit", "Ledger", "Verdict", "canonical_arguments", "code_signature", "effect", "error_line",
    "error_prefix", "failure", "find_edits", "is_waiting", "make_attempt", "mask", "result_key", "signature",
]  # fmt: skip
