"""Regular expressions that are compiled when they are first used: the 170 of this package cost a start 20 ms."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_METHODS = ("match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer")


class _Later:
    """Stands for a compiled expression, and takes its methods over at the first use of one: from then on a call costs
    what it costs there."""

    __slots__ = ("_flags", "_text", *_METHODS)

    def __init__(self, text: str | bytes, flags: int | re.RegexFlag) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._text, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def pattern(text: AnyStr, flags: int | re.RegexFlag = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`; what is wrong with the expression is raised at its first use."""
    return cast("re.Pattern[AnyStr]", _Later(text, flags))
