"""How a lane's prompts are held: columns for pieces, for each step only its edits, a whole id list now and then.

Three verbs: `append`, `splice`, `close`. `sync` turns a whole list into splices. A tape only grows, so a prompt of a
closed step never changes and may be read from another thread while the tape goes on.
"""

from __future__ import annotations

from agentmem.tape.later import cut_later, reopened
from agentmem.tape.pieces import Edit, Piece, content_key
from agentmem.tape.roll import PromptView, Tape

__all__ = ["Edit", "Piece", "PromptView", "Tape", "content_key", "cut_later", "reopened"]
