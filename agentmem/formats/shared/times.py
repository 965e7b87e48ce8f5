"""Time stamps as they are found: numbers in seconds, milliseconds or nanoseconds, and ISO 8601 texts."""

from __future__ import annotations

from datetime import UTC, datetime

_MILLISECONDS = 1e11
_MICROSECONDS = 1e14
_NANOSECONDS = 1e17


def seconds(value: object) -> float | None:
    """Seconds since the epoch; None if it is no time. A text without a zone is taken as UTC."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        scale = 1e9 if value > _NANOSECONDS else 1e6 if value > _MICROSECONDS else 1e3 if value > _MILLISECONDS else 1
        return value / scale if value > 0 and value < 1e300 else None
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    return None
