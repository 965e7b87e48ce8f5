"""Whether a loop cuts its list before it calls the model or behind the answer, by what its versions hold.

A version shows its list as it was saved: what stands before the answer of its one new call, the answer, the results. A
loop that cut to six messages before the call and one that cut to eight when it saved write the same bytes as long as
every step adds the same number of messages. Where steps add different numbers, what stays the same tells:

- the whole list: it is cut behind the answer, when it is saved. The call saw the list before, uncut, with what came in.
- what is left of the list before: it is cut before anything comes in. The call saw what stands before its answer.
- only what stands before the answer: cut right before the call, or right behind the answer and before the results.
  These write the same, so it is not known; nor is it where nothing stays the same (a limit in tokens, a summary).

A prompt of no message was sent by nobody: a list in which the answer stands first was cut behind it. A list of which
nothing stands but what was rendered from the state was written for its call: that is what the call saw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agentmem.formats.draft import LaneDraft, StepDraft
from agentmem.formats.plain.numbering import Numbering
from agentmem.formats.versions import MessageList
from agentmem.model import Unsure

When = Literal["before", "after", "unknown"]
_CUTS = 3
"""So many cuts tell it at the earliest: two that agree may do so by chance."""


class Trims:
    """When the loop of one lane cuts, and the steps whose prompts depend on it."""

    def __init__(self, lane: LaneDraft, numbering: Numbering) -> None:
        self._lane, self._numbering = lane, numbering
        self.when: When = "unknown"
        self._spoilt = False
        """It seemed to be told, and then was not."""
        self._bare = False
        self._cuts = 0
        self._left: set[int] = set()
        """How many messages were left of the list before; likewise what stood before the answer, and in the list."""
        self._sent: set[int] = set()
        self._saved: set[int] = set()
        self._uncut = (0, 0)
        """The most that was left of a list, and saved, where nothing was cut."""
        self._doubted: list[tuple[StepDraft, bool, Unsure]] = []
        """Steps before or behind whose call something was cut; whether the version before theirs was seen; what is not
        known of their prompts if it was not and the loop cuts behind the answer."""
        self._counted: list[StepDraft] = []
        """Steps that older messages are missing of by the file's own count alone."""

    # -- what a version tells -------------------------------------------------------------------------------------

    def first(self, new: Sequence[StepDraft], begins_late: bool, saved: int) -> None:
        """The first version seen. `begins_late`: its list plainly does not begin where the run did; `saved`: as below.
        """
        self._uncut = (0, saved)
        if new and (begins_late or new[0].gap > 0):
            self._doubt(new, seen=False, bare=not _holds_messages(new[-1]), unseen="unseen")
            self._counted = [] if begins_late else list(new)

    def version(self, new: Sequence[StepDraft], messages: MessageList, sent: int | None, saved: int) -> bool:
        """A later version with these new steps, that `messages` has taken in. `sent`: so many messages stand before the
        first new answer, `saved`: in all. True if prompts of earlier steps are others now."""
        self._uncount()
        cut, seen = messages.first_change, not (new and new[0].gap)
        if len(new) > 1 or not seen or (new and self._rendered(new[0], messages)):
            if cut and (len(new) > 1 or not seen):
                self._doubt(new, seen=False)
            return False
        bare = bool(new) and not _holds_messages(new[0]) and (sent or 0) <= messages.same
        if messages.late and new:
            self._doubted.append((new[0], True, "between"))
        elif cut and new:
            self._doubt(new, seen=messages.joined, bare=bare)
        if not cut:
            self._uncut = max(self._uncut[0], messages.old if new else 0), max(self._uncut[1], saved)
        else:
            self._saved.add(saved)
            if sent is not None:
                self._left.add(messages.old)
                self._sent.add(sent)
                self._cuts += 1
                self._bare = self._bare or bare
        return self._settle()

    def _rendered(self, step: StepDraft, messages: MessageList) -> bool:
        """Whether nothing stands of the list before, and fields of the state do."""
        tape = self._lane.tape
        return not messages.joined and any(tape.field_of(ident) is not None for ident in tape.came(step.n))

    def _told(self) -> When:
        if self._spoilt:
            return "unknown"
        if self._bare:
            return "after"
        if self._cuts < _CUTS or len(self._sent) == 1:
            return "unknown"
        if len(self._saved) == 1 and len(self._left) > 1 and self._uncut[1] <= min(self._saved):
            return "after"
        if len(self._left) == 1 and len(self._saved) > 1 and self._uncut[0] <= min(self._left):
            return "before"
        return "unknown"

    # -- what follows from it -------------------------------------------------------------------------------------

    def _settle(self) -> bool:
        told = self._told()
        if told == self.when:
            return False
        was, self.when = self.when, told
        if told == "unknown":
            self._spoilt = True
        later = [step for step, seen, _ in self._doubted if seen]
        for step, seen, unseen in self._doubted:
            step.unsure = "cut" if told == "unknown" else None if seen or told == "before" else unseen
            self._lane.touch(step)
        if told != "after" or was == "after" or not later:
            return False
        self._lane.cut_later(later)
        return True

    def _doubt(
        self, new: Sequence[StepDraft], *, seen: bool, bare: bool = False, unseen: Unsure = "between"
    ) -> None:  # fmt: skip
        """Of several calls in one version only the list of the last was saved. `seen`: all that came in since the
        version before is known; `bare`: nothing stands before the answer; `unseen`: what is said of a prompt that no
        version holds."""
        for step in new[:-1]:
            step.unsure = unseen
        last = new[-1]
        if self.when != "before":
            last.unsure = unseen if self.when == "after" or bare else "cut"
        self._doubted.append((last, seen, unseen))

    def _uncount(self) -> None:
        """The file's own numbers count no steps, or are ahead of them: nothing is missing by them."""
        if not self._counted or (self._numbering.counts and self._counted[0].gap):
            return
        for step in self._counted:
            step.unsure = None
            self._lane.touch(step)
        self._doubted = [pair for pair in self._doubted if all(pair[0] is not step for step in self._counted)]
        self._counted = []


def _holds_messages(step: StepDraft) -> bool:
    """Whether its prompt, as it is shown, holds more than a system prompt and tools."""
    return bool(step.tokens.state or step.tokens.trace or step.tokens.unknown)
