"""A wrapper round a model client that records every call by itself: what was sent, what came back, what it cost.

It knows the shapes of OpenAI (`chat.completions.create` and `parse`, `responses.create`) and Anthropic
(`messages.create`), sync and async. Everything else of the client passes through. A streamed reply passes through
untouched: what was sent is recorded, the reply once it comes back among the messages of the next call, and the run's
`problems` say so. A call that raises is no step: nothing came back. Recording never breaks a call: what could not be
recorded is a warning and stands in `problems`.

A request is all that its call sends: a system prompt or tools that it does not hold are recorded as empty, whatever the
call before sent.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from agentmem.checkpoint.given import dump, mapping
from agentmem.checkpoint.store import CheckpointError

if TYPE_CHECKING:
    from agentmem.checkpoint.recorder import Recorder

T = TypeVar("T")
Request = dict[str, Any]
Path = tuple[str, ...]
_LISTS = ("messages", "input", "tools", "functions", "system")
"""Of a request, what is recorded and may be given as an iterator."""
_STREAMED = "the reply of a streamed call is not recorded until it comes back among the messages"
_RAW = "calls through with_raw_response and with_streaming_response are not recorded"


class NotRecorded(UserWarning):
    """A call went through, but it, or a part of it, could not be recorded."""


class _Shape(msgspec.Struct, frozen=True):
    """How one kind of call says what it sends and what came back."""

    messages: Callable[[Request], list[Any]]
    system: Callable[[Request], Any]
    replies: Callable[[Any], list[Any]]
    exact: Callable[[Request], bool] = lambda request: True
    """Whether the request holds the whole prompt."""


def _plain(value: Any) -> Any:
    """A reply as JSON values, whatever the client makes its objects of."""
    if isinstance(value, Enum):
        return _plain(value.value)
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    found = dump(value)
    if found is None and hasattr(value, "__dict__"):
        found = {name: inner for name, inner in vars(value).items() if inner is not None and not name.startswith("_")}
    if found is None:
        raise TypeError(f"reply: {type(value).__name__} is not a JSON value")
    return {name: _plain(inner) for name, inner in found.items()}


def _part(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _chat_reply(reply: Any) -> list[Any]:
    choices = _part(reply, "choices") or []
    message = _part(choices[0], "message") if choices else None
    return [] if message is None else [{"role": "assistant", **_plain(message)}]


def _responses_input(request: Request) -> list[Any]:
    given = request.get("input")
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given or [])


_CHAT = _Shape(lambda request: list(request.get("messages") or []), lambda request: None, _chat_reply)
_RESPONSES = _Shape(
    _responses_input,
    lambda request: request.get("instructions"),
    lambda reply: cast(list[Any], _plain(_part(reply, "output") or [])),
    lambda request: not any(request.get(name) for name in ("previous_response_id", "conversation", "prompt")),
)
_MESSAGES = _Shape(
    lambda request: list(request.get("messages") or []),
    lambda request: request.get("system"),
    lambda reply: [{"role": "assistant", "content": _plain(_part(reply, "content"))}],
)
_CALLS: dict[Path, _Shape] = {
    ("chat", "completions", "create"): _CHAT,
    ("chat", "completions", "parse"): _CHAT,
    ("beta", "chat", "completions", "parse"): _CHAT,
    ("responses", "create"): _RESPONSES,
    ("responses", "parse"): _RESPONSES,
    ("messages", "create"): _MESSAGES,
    ("messages", "parse"): _MESSAGES,
    ("beta", "messages", "create"): _MESSAGES,
}
_STREAMS: dict[Path, _Shape] = {
    ("chat", "completions", "stream"): _CHAT,
    ("beta", "chat", "completions", "stream"): _CHAT,
    ("responses", "stream"): _RESPONSES,
    ("messages", "stream"): _MESSAGES,
    ("beta", "messages", "stream"): _MESSAGES,
}
_ON_THE_WAY = {path[:length] for path in (*_CALLS, *_STREAMS) for length in range(1, len(path))}
_SAME_CLIENT = frozenset({"with_options", "copy"})
_UNSEEN = frozenset({"with_raw_response", "with_streaming_response"})


class _Wrapped:
    """The client, or a part of it on the way to a call that is recorded."""

    def __init__(self, target: Any, run: Recorder, path: Path) -> None:
        self._target = target
        self._run = run
        self._path = path

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        path = (*self._path, name)
        if path in _CALLS:
            return _recording(found, _CALLS[path], self._run, stream=False)
        if path in _STREAMS:
            return _recording(found, _STREAMS[path], self._run, stream=True)
        if path in _ON_THE_WAY:
            return _Wrapped(found, self._run, path)
        if not self._path and name in _SAME_CLIENT:
            return lambda *args, **kwargs: _Wrapped(found(*args, **kwargs), self._run, ())
        if name in _UNSEEN:
            _tell(self._run, _RAW)
        return found

    def __enter__(self) -> _Wrapped:
        self._target.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        return self._target.__exit__(kind, error, trace)

    async def __aenter__(self) -> _Wrapped:
        await self._target.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        return await self._target.__aexit__(kind, error, trace)

    def __repr__(self) -> str:
        return f"<recorded by agentmem: {self._target!r}>"


def wrap(client: T, run: Recorder) -> T:
    """The same client, recording every call into `run` as one step. The original stays as it is.

    Raises TypeError for a client that has none of the calls that can be recorded.
    """
    if not any(_reaches(client, path) for path in _CALLS):
        raise TypeError(f"{type(client).__name__} has no chat.completions, responses or messages to record")
    return cast(T, _Wrapped(client, run, ()))


def _reaches(client: Any, path: Path) -> bool:
    for name in path:
        client = getattr(client, name, None)
    return callable(client)


def _recording(call: Callable[..., Any], shape: _Shape, run: Recorder, *, stream: bool) -> Callable[..., Any]:
    def recorded(*args: Any, **kwargs: Any) -> Any:
        # What can be gone through only once is the client's: both get the list of it.
        kwargs.update((name, list(kwargs[name])) for name in _LISTS if isinstance(kwargs.get(name), Iterator))
        body = kwargs.get("extra_body")
        request = {**kwargs, **body} if isinstance(body, Mapping) else dict(kwargs)
        messages = _sent(shape, request)
        reply = call(*args, **kwargs)
        streamed = stream or bool(request.get("stream"))
        if inspect.isawaitable(reply):
            return _later(reply, shape, run, request, messages, streamed)
        _keep(reply, shape, run, request, messages, streamed)
        return reply

    return recorded


def _sent(shape: _Shape, request: Request) -> list[Any] | None:
    """The messages as they stand before the call; None for what is no list of them, which the client may refuse."""
    try:
        return shape.messages(request)
    except TypeError:
        return None


async def _later(
    reply: Any, shape: _Shape, run: Recorder, request: Request, messages: list[Any] | None, streamed: bool
) -> Any:
    found = await reply
    _keep(found, shape, run, request, messages, streamed)
    return found


def _keep(
    reply: Any, shape: _Shape, run: Recorder, request: Request, messages: list[Any] | None, streamed: bool
) -> None:
    try:
        if messages is None:
            raise TypeError("its messages are no list")
        came = [] if streamed else shape.replies(reply)
        model = None if streamed else _part(reply, "model")
        run.save(
            [*messages, *came],
            prompt=messages if shape.exact(request) else None,
            system=_given(shape.system(request), ""),
            tools=_given(request.get("tools"), None) or _given(request.get("functions"), []),
            model=model if isinstance(model, str) else _text(request.get("model")),
            usage=None if streamed else _usage(_part(reply, "usage")),
        )
    except (CheckpointError, TypeError, ValueError) as error:
        _tell(run, f"a call was not recorded: {error}")
        return
    except Exception as error:  # noqa: BLE001  # the call was made, and a reply of an odd shape must not undo that
        _tell(run, f"a call was not recorded: {type(error).__name__}: {error}")
        return
    if streamed:
        _tell(run, _STREAMED)


def _given(value: Any, otherwise: Any) -> Any:
    """The value, a list for what can be gone through; `otherwise` for None and a client's own "not given" mark."""
    if isinstance(value, str | Mapping):
        return value
    return list(value) if isinstance(value, Iterable) else otherwise


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _usage(value: Any) -> dict[str, Any] | None:
    found = mapping(value, "usage")
    return None if found is None else {name: _plain(inner) for name, inner in found.items() if inner is not None}


def _tell(run: Recorder, what: str) -> None:
    if what not in run.problems:
        run.problems.append(what)
        warnings.warn(f"run {run.run_id}: {what}", NotRecorded, stacklevel=4)
