"""Going in circles: repeats, cycles, same errors, undos and relapses over the attempts of one lane; not waiting.

Decisions where the rule leaves room:
- A pattern of period p is contiguous and its second round holds nothing new, so a new change can stand in its first
  round only. It may be the pattern's first member: nothing else of the cycle history needs to be cleared.
- A cycle that turns goes on while members of it come, in whatever order: a guard that vetoes one of a pair does not
  make a second finding of the other.
- A call is seen if it has succeeded before; one that failed and then succeeds is new.
- Same errors need three different steps and two different calls; three equal calls are a repeat.
- A warned member of a cycle that comes back after the cycle was broken makes one relapse of the whole cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from agentmem.ledger.edits import Edit, Files, find_edits
from agentmem.ledger.group import ErrorKey, Group, Item, Key, Polls
from agentmem.ledger.result import error_prefix, is_not_found, result_key, says_running
from agentmem.model import Attempt, Cycle, CycleKind, Waiting

WINDOW = 20
MATCHES = 3
PERIODS = range(2, 7)
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
        self.recent: deque[Item] = deque(maxlen=WINDOW)
        self.seen: dict[str, None] = {}
        """Signatures of successful attempts that change something or may."""
        self.warned: dict[Key, Group] = {}
        self.errors: dict[ErrorKey, Group] = {}
        self.undone: dict[str, Group] = {}
        self.turning: Group | None = None
        """The repeat, cycle or relapse that has not been broken."""
        self.groups: list[Group] = []
        self.files = Files()
        self.floor = 0
        """Ordinal of the attempt that cleared the counts last."""
        self.ordinal = 0
        self.tokens: dict[int, int] = {}
        self.polls: list[Polls] = []
        self.polling: dict[str, Polls] = {}
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
        self.recent.append(item)
        self._find(item, attempt, undone)

    def _waits(self, attempt: Attempt) -> bool:
        if attempt.effect == "waits":
            return True
        if attempt.effect == "changes" or attempt.outcome == "error" or attempt.result_head is None:
            return False
        return says_running(attempt.result_head)

    def _poll(self, attempt: Attempt) -> None:
        polls = self.polling.get(attempt.tool)
        if polls is None:
            polls = self.polling[attempt.tool] = Polls(attempt.lane, attempt.tool)
            self.polls.append(polls)
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
        self.polling.clear()
        self.turning = None
        self.floor = self.ordinal
        self._cycles = None

    def _find(self, item: Item, attempt: Attempt, undone: list[str]) -> None:
        step = attempt.step
        for error, group in self.errors.items():
            if error[0] == item.tool and error != item.error:
                group.end(step)
                self._cycles = None
        if self.turning is not None:
            if item.key in self.turning.keys:
                self._go_on(self.turning, item)
                return
            self.turning.end(step)
            self.turning = None
            self._cycles = None
        period = self._period()
        if period:
            self._cycle(period, attempt)
        elif item.key in self.warned:
            self._relapse(self.warned[item.key], item, attempt)
        elif self._undo(undone, item, attempt):
            return
        elif item.error is not None and item.error in self.errors:
            group = self.errors[item.error]
            self._go_on(group, item)
        else:
            self._repeat_or_error(item, attempt)

    def _go_on(self, group: Group, item: Item) -> None:
        group.extend(item)
        self.touched = group
        self._cycles = None

    def _period(self) -> int:
        """The smallest period that the newest attempts repeat with, 0 if none."""
        recent = self.recent
        size = len(recent)
        newest = recent[-1].key
        for period in PERIODS:
            if size <= 2 * period:
                return 0
            if recent[-1 - period].key != newest:
                continue
            keys = [recent[i].key for i in range(size - 2 * period - 1, size)]
            if keys[period:] == keys[: period + 1] and len(set(keys)) > 1:
                return period
        return 0

    def _start(self, kind: CycleKind, period: int, members: Sequence[Item], attempt: Attempt, detail: str) -> Group:
        group = Group(
            lane=attempt.lane, kind=kind, period=period, keys=tuple(dict.fromkeys(item.key for item in members)),
            tools=tuple(item.tool for item in members[:period]), places=list(dict.fromkeys(i.place for i in members)),
            hits=len(members), warned_at=attempt.step, detail=detail,
        )  # fmt: skip
        self.groups.append(group)
        self.touched, self.fresh, self._cycles = group, True, None
        return group

    def _cycle(self, period: int, attempt: Attempt) -> None:
        members = list(self.recent)[-2 * period - 1 :]
        group = self._start("cycle", period, members, attempt, "same calls, same results, in the same order")
        group.keys = tuple(item.key for item in members[:period])
        inside = set(group.keys)
        live = dict.fromkeys((*self.warned.values(), *self.errors.values(), *self.undone.values()))
        absorbed = [other for other in live if inside.issuperset(other.keys)]
        absorbed += [other.origin for other in absorbed if other.origin is not None]
        for other in absorbed:
            group.places = sorted({*group.places, *other.places})
            group.warned_at = min(group.warned_at, other.warned_at)
            self.fresh = False
        if absorbed:
            self.groups = [other for other in self.groups if other not in absorbed]
            self.errors = {error: other for error, other in self.errors.items() if other not in absorbed}
            self.undone = {path: other for path, other in self.undone.items() if other not in absorbed}
        self.warned.update(dict.fromkeys(group.keys, group))
        self.turning = group

    def _relapse(self, origin: Group, item: Item, attempt: Attempt) -> None:
        self.turning = origin
        if origin.kind != "relapse":
            group = self._start("relapse", origin.period, [item], attempt, f"warned about at step {origin.warned_at}")
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
        since = [other for other in self.recent if other.ordinal >= self.floor]
        equal = [other for other in since if other.key == item.key]
        if len(equal) >= (self.failures if item.failed else MATCHES):
            group = self._start("repeat", 1, equal, attempt, "the same call with the same result")
            self.warned[item.key] = self.turning = group
            return
        if item.error is None:
            return
        alike = [other for other in since if other.error == item.error]
        if len({other.place[0] for other in alike}) >= MATCHES and len({other.key[0] for other in alike}) > 1:
            self.errors[item.error] = self._start("same-error", 1, alike, attempt, item.error[1])
