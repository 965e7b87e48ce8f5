"""Going in circles: repeats, cycles, same errors, undos and relapses over the attempts of one lane; not waiting.

Decisions where the rule leaves room:
- A pattern of period p is contiguous and its second round holds nothing new, so a new change can stand in its first
  round only. It may be the pattern's first member: nothing else of the cycle history needs to be cleared.
- A cycle that turns goes on while members of it come, in whatever order: a guard that vetoes one of a pair does not
  make a second finding of the other.
- A call is seen if it has succeeded before; one that failed and then succeeds is new.
- Same errors need three different steps and two different calls; three equal calls are a repeat.
- A warned member of a cycle that comes back after the cycle was broken makes one relapse of the whole cycle.
- Periods go to 30: the rule asks for 2 to 6, but a longer circle is one all the same, and is named as those are. What
  was found among its members before is folded into it.
- Repeats that take turns, with attempts between them that differ each time, are one repeat of several calls.
- The same poll again whose answer is no wait any more ends the wait and is counted in it, as the last call of a tool
  that waits is; like any other attempt it may still repeat or change something.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from agentmem.ledger.answers.result import error_prefix, is_not_found, result_key
from agentmem.ledger.answers.unfinished import may_run, still_runs
from agentmem.ledger.edits import Edit, Files, find_edits
from agentmem.ledger.effect import command_of
from agentmem.ledger.given import only_kind, only_list
from agentmem.ledger.group import ErrorKey, Group, Item, Key, Polls
from agentmem.ledger.history import History
from agentmem.ledger.signature import words
from agentmem.model import HEAD_CHARACTERS, Attempt, Cycle, CycleKind, Waiting

MATCHES = 3
UNDOS = 2
POLLS = 2
Edits = Sequence[Edit] | None


def _known(attempt: Attempt) -> bool:
    if attempt.outcome == "denied" or attempt.result_key is not None:
        return True
    return attempt.outcome == "error" and attempt.error is not None


class Detector:
    """Takes the attempts of one lane in order and says where they go in circles.

    `failures`: how many equal failing attempts make a repeat (3; a strict ledger takes 2).
    An attempt without a result is held back, and those behind it in its step with it; feed it again when its result is
    known. When the next step begins, what has no result yet is passed over: it breaks no pattern. If the past
    changes otherwise, start a new detector.
    """

    def __init__(self, failures: int = MATCHES) -> None:
        self.failures = failures
        self.touched: Group | None = None
        """The group that the last judged attempt made or went on with."""
        self.fresh = False
        """Whether the last judged attempt made it."""
        self.history = History()
        self.seen: dict[str, None] = {}
        """Signatures of successful attempts that change something or may."""
        self.warned: dict[Key, Group] = {}
        self.errors: dict[ErrorKey, Group] = {}
        self.failing: dict[str, ErrorKey] = {}
        """Tool -> the error of the same-error that has not been broken."""
        self.undone: dict[str, Group] = {}
        self.turning: Group | None = None
        """The repeat, cycle or relapse that has not been broken."""
        self.groups: dict[Group, None] = {}
        """In the order in which they were warned about."""
        self.files = Files()
        self.floor = 0
        """Ordinal of the attempt that cleared the counts last."""
        self.ordinal = 0
        self.tokens: dict[int, int] = {}
        self.polls: list[Polls] = []
        self.polling: dict[str, Polls] = {}
        self._within = 0
        """How many attempts up to the newest are known to be of what turns."""
        self._step = -1
        self._step_keys: set[Key] = set()
        self._open: dict[tuple[int, int], tuple[Attempt, Edits]] = {}
        self._unanswered: dict[tuple[int, int], None] = {}
        self._cycles: tuple[Cycle, ...] | None = ()
        self._waiting: tuple[Waiting, ...] | None = ()

    @property
    def cycles(self) -> tuple[Cycle, ...]:
        """In the order in which they were warned about."""
        if self._cycles is None:
            self._cycles = tuple(group.value(self.tokens) for group in self.groups)
        return self._cycles

    @property
    def waiting(self) -> tuple[Waiting, ...]:
        """Two polls or more each."""
        if self._waiting is None:
            self._waiting = tuple(polls.value(self.tokens) for polls in self.polls if polls.count >= POLLS)
        return self._waiting

    @property
    def held(self) -> int:
        """How many attempts wait for a result."""
        return len(self._unanswered) + len(self._open)

    def feed(self, attempt: Attempt, edits: Edits = None) -> None:
        """The next attempt, or the result of one that was held back. `edits`: found in the arguments if not given."""
        only_kind(attempt, Attempt, "feed: attempt", "an Attempt")
        if edits is not None:
            only_list(edits, "feed: edits")
        if attempt.tokens is not None and self.tokens.get(attempt.n) != attempt.tokens:
            self.tokens[attempt.n] = attempt.tokens
        place = (attempt.n, attempt.index)
        if place in self._unanswered:
            if _known(attempt):
                del self._unanswered[place]
                self._judge(attempt, edits)
            return
        if self._open and next(iter(self._open))[0] != attempt.n:
            self._close_step()
        if not self._open and _known(attempt):
            self._judge(attempt, edits)
            return
        self._open[place] = (attempt, edits)
        while self._open:
            first = next(iter(self._open))
            if not _known(self._open[first][0]):
                break
            self._judge(*self._open.pop(first))

    def _close_step(self) -> None:
        for place, (attempt, edits) in self._open.items():
            if _known(attempt):
                self._judge(attempt, edits)
            else:
                self._unanswered[place] = None
        self._open.clear()

    def _judge(self, attempt: Attempt, edits: Edits) -> None:
        self.touched, self.fresh = None, False
        if attempt.n != self._step:
            self._step, self._step_keys = attempt.n, set()
        if attempt.outcome == "denied":
            return
        if self._waits(attempt):
            self._poll(attempt)
            return
        self._last_poll(attempt)
        key = (attempt.signature, attempt.result_key or result_key(attempt.error or ""))
        if key in self._step_keys:
            return
        self._step_keys.add(key)
        failed = attempt.outcome == "error"
        undone: list[str] = []
        if not failed and attempt.effect != "reads":
            new = attempt.signature not in self.seen
            self.seen[attempt.signature] = None
            found = find_edits(attempt.tool, attempt.arguments) if edits is None else edits
            made = ((attempt.n, attempt.step), key, attempt.tool)
            undone = self.files.see(found, made, new) if found else []
            if new:
                self._clear(attempt.step, undone)
        item = Item((attempt.n, attempt.step), key, attempt.tool, self._error(attempt), failed, self.ordinal)
        self.ordinal += 1
        self.history.add(item)
        self._find(item, attempt, undone)

    def _waits(self, attempt: Attempt) -> bool:
        if attempt.effect == "waits":
            return True
        head = attempt.result_head
        if attempt.effect == "changes" or attempt.outcome == "error" or head is None or not may_run(head):
            return False
        command = command_of(attempt.tool, attempt.arguments)
        return still_runs(words(attempt.tool), command, head, whole=len(head) < HEAD_CHARACTERS)

    def _poll(self, attempt: Attempt) -> None:
        polls = self.polling.get(attempt.tool)
        if polls is None:
            polls = self.polling[attempt.tool] = Polls(attempt.lane, attempt.tool)
            self.polls.append(polls)
        polls.asked[attempt.signature] = None
        polls.extend((attempt.n, attempt.step), attempt.started, attempt.ended)
        self._waiting = None

    def _last_poll(self, attempt: Attempt) -> None:
        """An answer that is no wait, to what was polled before, is the last of its wait."""
        polls = self.polling.get(attempt.tool)
        if polls is not None and attempt.signature in polls.asked:
            del polls.asked[attempt.signature]
            polls.extend((attempt.n, attempt.step), attempt.started, attempt.ended)
            self._waiting = None

    def _error(self, attempt: Attempt) -> ErrorKey | None:
        error = attempt.error or attempt.result_head
        if attempt.outcome != "error" or not error or (attempt.effect == "reads" and is_not_found(error)):
            return None
        prefix = error_prefix(error, attempt.arguments)
        return None if prefix is None else (attempt.tool, prefix)

    def _clear(self, step: int, undone: list[str]) -> None:
        """A new change has succeeded: counts and warnings are gone, what turned has ended."""
        for group in (*self.warned.values(), *self.errors.values()):
            group.end(step)
        for path in [path for path in self.undone if path not in undone]:
            self.undone.pop(path).end(step)
        self.warned.clear()
        self.errors.clear()
        self.failing.clear()
        self.polling.clear()
        self.turning = None
        self.floor = self.ordinal
        self._cycles = None

    def _find(self, item: Item, attempt: Attempt, undone: list[str]) -> None:
        step = attempt.step
        failing = self.failing.get(item.tool)
        if failing is not None and failing != item.error:
            self._end(self.errors[self.failing.pop(item.tool)], step)
        period = self.history.period()
        turning = self.turning
        if turning is not None:
            if item.key in turning.keys and not self._wider(period, turning):
                self._within += 1
                self._go_on(turning, item)
                return
            self._end(turning, step)
            self.turning = None
        self._within = 0
        if period:
            self._cycle(period, attempt)
        elif item.key in self.warned:
            self._relapse(self.warned[item.key], item, attempt)
        elif self._undo(undone, item, attempt):
            return
        elif item.error is not None and item.error in self.errors:
            self.failing[item.tool] = item.error
            self._go_on(self.errors[item.error], item)
        else:
            self._repeat_or_error(item, attempt)

    def _wider(self, period: int, turning: Group) -> bool:
        """Whether the newest attempts repeat with others between them than those of what turns."""
        if period <= self._within:
            return False
        return any(item.key not in turning.keys for item in self.history.last(period))

    def _end(self, group: Group, step: int) -> None:
        group.end(step)
        self._cycles = None

    def _go_on(self, group: Group, item: Item) -> None:
        group.extend(item)
        self.touched = group
        self._cycles = None

    def _start(self, kind: CycleKind, period: int, members: Sequence[Item], attempt: Attempt, detail: str) -> Group:
        group = Group(
            lane=attempt.lane, kind=kind, period=period, keys=tuple(dict.fromkeys(item.key for item in members)),
            tools=tuple(item.tool for item in members[:period]), places=list(dict.fromkeys(i.place for i in members)),
            hits=len(members), warned_at=attempt.step, detail=detail,
        )  # fmt: skip
        self.groups[group] = None
        self.touched, self.fresh, self._cycles = group, True, None
        return group

    def _cycle(self, period: int, attempt: Attempt) -> None:
        members = self.history.pattern(period)
        group = self._start("cycle", period, members, attempt, "same calls, same results, in the same order")
        group.keys = tuple(item.key for item in members[:period])
        for other in self._inside(members):
            group.places = sorted({*group.places, *other.places})
            group.warned_at = min(group.warned_at, other.warned_at)
            self.groups.pop(other, None)
            self.fresh = False
        self.warned.update(dict.fromkeys(group.keys, group))
        self.turning = group

    def _inside(self, members: Sequence[Item]) -> list[Group]:
        """What was found among these attempts alone; it is forgotten, because their cycle tells it."""
        keys = {item.key for item in members}
        errors = {item.error for item in members if item.error is not None and item.error in self.errors}
        found = [self.warned[key] for key in keys if key in self.warned]
        found += [*(self.errors[error] for error in errors), *self.undone.values()]
        inside = [group for group in dict.fromkeys(found) if keys.issuperset(group.keys)]
        for error in errors:
            if self.errors[error] in inside:
                self.failing.pop(error[0], None)
                del self.errors[error]
        self.undone = {path: group for path, group in self.undone.items() if group not in inside}
        return inside + [group.origin for group in inside if group.origin is not None]

    def _relapse(self, origin: Group, item: Item, attempt: Attempt) -> None:
        self.turning = origin
        if origin.kind != "relapse":
            detail = f"named at step {origin.warned_at} already, back after others"
            group = self._start("relapse", origin.period, [item], attempt, detail)
            group.keys, group.tools, group.hits = origin.keys, origin.tools, origin.hits
            group.places, group.origin = list(origin.places), origin
            self.warned.update(dict.fromkeys(group.keys, group))
            self.turning = group
            group.extend(item)
            self.fresh = False
            return
        self._go_on(origin, item)

    def _undo(self, undone: list[str], item: Item, attempt: Attempt) -> bool:
        for path in undone:
            file = self.files.files[path]
            if file.reversals < UNDOS:
                continue
            group = self.undone.get(path)
            if group is not None:
                self._go_on(group, item)
            else:
                group = self.undone[path] = self._start("undo", 2, [item], attempt, f"edits of {path} taken back")
                group.places = sorted({place for place, _, _ in file.undos})
                group.keys = tuple(dict.fromkeys(key for _, key, _ in file.undos))
                group.tools = tuple(tool for _, _, tool in file.undos[:2])
                group.hits = file.reversals
            return True
        return False

    def _repeat_or_error(self, item: Item, attempt: Attempt) -> None:
        equal = self.history.equal(item.key, self.floor)
        if len(equal) >= (self.failures if item.failed else MATCHES):
            self._repeat(equal, attempt)
            return
        if item.error is None:
            return
        alike = [other for other in self.history.window(self.floor) if other.error == item.error]
        if len({other.place[0] for other in alike}) >= MATCHES and len({other.key[0] for other in alike}) > 1:
            self.errors[item.error] = self._start("same-error", 1, alike, attempt, item.error[1])
            self.failing[item.tool] = item.error

    def _repeat(self, equal: Sequence[Item], attempt: Attempt) -> None:
        group = self._taking_turns(equal)
        if group is None:
            group = self._start("repeat", 1, equal, attempt, "the same call with the same result")
        else:
            group.join(equal)
            self.touched, self.fresh, self._cycles = group, True, None
        self.warned[equal[-1].key] = self.turning = group

    def _taking_turns(self, equal: Sequence[Item]) -> Group | None:
        """The repeat each of whose calls stands once between these attempts and the next of them."""
        between = [
            [item.key for item in self.history.window(self.floor) if one.ordinal < item.ordinal < other.ordinal]
            for one, other in pairwise(equal)
        ]
        for key in reversed(between[-1]):
            group = self.warned.get(key)
            if group is not None and group.kind == "repeat":
                return group if all(keys.count(key) == 1 for keys in between for key in group.keys) else None
        return None
