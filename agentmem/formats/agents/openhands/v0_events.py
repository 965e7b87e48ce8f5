"""One event of OpenHands V0 -> the pieces that it brings into the prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentmem.formats.agents.openhands.events import framed, text_of
from agentmem.formats.messages import Part, arguments_text, call_text, compact_json, split

QUIET_ACTIONS = frozenset({
    "recall", "change_agent_state", "pause", "resume", "stop", "null", "condensation_request", "start", "loop_recovery",
})  # fmt: skip
QUIET_OBSERVATIONS = frozenset({"agent_state_changed", "null", "loop_detection", "server_ready", "user_rejected_null"})
_TOLD = frozenset({"message", "system"})
_ASIDE = frozenset({
    "thought", "impl_source", "translated_ipython_code", "confirmation_state", "security_risk", "blocking", "hidden",
    "is_confirmed", "is_static", "cwd", "image_urls", "wait_for_response",
})  # fmt: skip


def number(value: object) -> int | None:
    """An event id: a number, or a text that is one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 16 else None


def metadata(event: Mapping[str, Any]) -> Mapping[str, Any]:
    found = event.get("tool_call_metadata")
    return found if isinstance(found, Mapping) else {}


def response(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The provider's whole answer, of which the event is one call."""
    found = metadata(event).get("model_response")
    return found if isinstance(found, Mapping) else {}


def call_id(event: Mapping[str, Any]) -> str | None:
    """Id of the call that an action makes or an observation answers."""
    given = metadata(event).get("tool_call_id")
    if isinstance(given, str) and given:
        return given
    ident = number(event.get("cause" if "observation" in event else "id"))
    return None if ident is None else f"event-{ident}"


def is_call(event: Mapping[str, Any]) -> bool:
    """Whether an action of the agent is a call (not a message)."""
    action = text_of(event.get("action"))
    return event.get("source") == "agent" and action not in (*_TOLD, *QUIET_ACTIONS, "condensation", None)


def failed(event: Mapping[str, Any]) -> bool | None:
    if event.get("observation") == "error":
        return True
    extras = event.get("extras")
    body: Mapping[str, Any] = extras if isinstance(extras, Mapping) else {}
    details = body.get("metadata")
    for place in (body, details if isinstance(details, Mapping) else {}):
        code = place.get("exit_code")
        if isinstance(code, int) and not isinstance(code, bool) and code != -1:
            return code != 0
    return not event["success"] if isinstance(event.get("success"), bool) else None


def parts_of(event: Mapping[str, Any]) -> list[Part]:
    """The pieces of an event, in order; none for what the model does not see."""
    action = event.get("action")
    args = event.get("args")
    body: Mapping[str, Any] = args if isinstance(args, Mapping) else {}
    if action == "system":
        tools = body.get("tools")
        found = [Part("system", str(body.get("content") or event.get("message") or ""))]
        return [*found, Part("tools", compact_json(tools))] if isinstance(tools, list) and tools else found
    if action == "message":
        text = body.get("content", event.get("message"))
        return [Part("assistant" if event.get("source") == "agent" else "user", str(text or ""))]
    if action == "condensation":
        summary = body.get("summary")
        return [Part("summary", summary)] if isinstance(summary, str) and summary else []
    if is_call(event):
        return _call(event, str(action), body)
    if event.get("observation") is not None and str(event["observation"]) not in QUIET_OBSERVATIONS:
        return _observed(event)
    return []


def _call(event: Mapping[str, Any], action: str, body: Mapping[str, Any]) -> list[Part]:
    given = metadata(event).get("tool_call_id")
    choices = response(event).get("choices")
    for choice in choices if isinstance(choices, list) else ():
        message = choice.get("message") if isinstance(choice, Mapping) else None
        if isinstance(message, Mapping):
            parts = split(message).parts
            own = [part for part in parts if part.kind == "call" and part.call_id == given]
            if own:
                return [*(part for part in parts if part.kind in ("assistant", "thinking")), *own]
    parts = []
    thought = body.get("thought")
    if isinstance(thought, str) and thought.strip():
        parts.append(Part("assistant", thought))
    arguments = arguments_text({name: value for name, value in body.items() if name not in _ASIDE})
    return [*parts, Part("call", call_text(action, arguments), call_id(event), action, arguments)]


def _observed(event: Mapping[str, Any]) -> list[Part]:
    extras = event.get("extras")
    body: Mapping[str, Any] = extras if isinstance(extras, Mapping) else {}
    text = framed(str(event.get("content") or ""), body.get("metadata"))
    sort = event.get("observation")
    if sort == "recall":
        told = [body[name] for name in ("repo_instructions", "runtime_hosts") if isinstance(body.get(name), str)]
        known = body.get("microagent_knowledge")
        for item in known if isinstance(known, list) else ():
            if isinstance(item, Mapping) and isinstance(item.get("content"), str):
                told.append(item["content"])
        text = "\n\n".join(part for part in (text, *told) if part)
        return [Part("recall", text)]
    name = metadata(event).get("function_name")
    tool = name if isinstance(name, str) and name else None
    return [Part("result", text, call_id(event), tool, failed=failed(event))]


def forgotten(event: Mapping[str, Any]) -> set[int]:
    """Ids of the events that a condensation takes out: a list, or a range with both ends."""
    args = event.get("args")
    body: Mapping[str, Any] = args if isinstance(args, Mapping) else {}
    named = body.get("forgotten_event_ids")
    if isinstance(named, list):
        return {ident for item in named if (ident := number(item)) is not None}
    first, last = number(body.get("forgotten_events_start_id")), number(body.get("forgotten_events_end_id"))
    if first is None or last is None or last - first > 1_000_000:
        return set()
    return set(range(first, last + 1))
