"""A guarded function: what the decorator makes of one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

from agentmem.checkpoint.guard.doubt import Look

if TYPE_CHECKING:
    from agentmem.checkpoint.guard.calls import Guard, Guarded

P = ParamSpec("P")
R = TypeVar("R")
KEY = "idempotency_key"
"""A parameter of this name is given the key of the call."""


class Tool(Generic[P, R]):
    """A guarded function. Call it as the function itself."""

    def __init__(
        self, guard: Guard, function: Callable[P, R], name: str | None, check: Look | None, honours_key: bool
    ) -> None:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{function.__name__}: a generator cannot be guarded; guard what it does")
        functools.update_wrapper(self, function)
        self._guard, self._function = guard, function
        self._name = name or function.__name__
        self._signature = inspect.signature(function)
        self._check, self._honours_key = check, honours_key
        self._takes_key = KEY in self._signature.parameters

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._made(None, args, kwargs)

    def for_call(self, call_id: str) -> Callable[P, R]:
        """The same function for the call of that id, as the model gave it: the id alone makes the key."""

        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            return self._made(call_id, args, kwargs)

        return call

    def _made(self, call_id: str | None, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> R:
        key = kwargs.get(KEY) if self._takes_key else None
        named = {**kwargs, **({KEY: key or ""} if self._takes_key else {})}
        bound = self._signature.bind(*args, **named)
        bound.apply_defaults()
        arguments = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in bound.arguments.items()
            if name != KEY
        }
        under = self._guard.call(
            self._name, arguments, call_id=call_id, key=cast("str | None", key), check=self._check,
            honours_key=self._honours_key,
        )  # fmt: skip
        if inspect.iscoroutinefunction(self._function):
            return cast(R, self._later(under, args, named))
        with under as guarded:
            if not guarded.done:
                guarded.result = self._function(*args, **self._with_key(named, guarded))
            return cast(R, guarded.result)

    async def _later(self, under: Any, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        with under as guarded:
            if not guarded.done:
                function = cast("Callable[..., Awaitable[Any]]", self._function)
                guarded.result = await function(*args, **self._with_key(named, guarded))
            return guarded.result

    def _with_key(self, named: Mapping[str, Any], guarded: Guarded) -> dict[str, Any]:
        return {**named, **({KEY: guarded.key} if self._takes_key else {})}
