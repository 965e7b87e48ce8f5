"""One message of any common shape -> its pieces: OpenAI chat, OpenAI Responses items, Anthropic content blocks.

`split` is deterministic, so that a piece is found again on disk by the bytes of its message and its ordinal.
Blobs (images, encrypted content, signatures) never become text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
import xxhash

from agentmem.formats.loose import canonical, decode, encode
from agentmem.model import Kind
from agentmem.pattern import pattern

IMAGE_TOKENS = 765
"""A flat estimate of one picture: OpenAI's figure for 512 x 512 tiles, 85 + 4 * 170 (vision guide, 2024)."""

_SUMMARY_HEADS = (
    "This session is being continued from a previous conversation",
    "Another language model started to solve this problem",
    "<state_snapshot>",
    "Context summary:",
    "Progress so far:",
    "The conversation history before this point was compacted",
    "Here is a summary of the conversation to date",
)
_SUMMARY_TITLE = pattern(
    r"[\[(#*\s]*(?:(?:here|this) is )?(?:an? |the )?(?:"
    r"summary of (?:the |our |this )?(?:(?:earlier|previous|prior|older|past) [a-z ]{0,40}"
    r"|(?:conversation|session|chat|discussion|history|work|run)(?: history)? (?:so far|to date|until now|up to now"
    r"|earlier|above))"
    r"|(?:conversation|context|earlier|previous|prior) (?:conversation |session )?summary)\**\s*[:\])\n]",
    re.IGNORECASE,
)
"""What strangers' loops put over a summary; no other text says of itself that it sums up what went before."""
_TITLE_CHARACTERS = 120
Role = Literal["system", "user", "assistant", "result", "other"]
_ROLE_KIND: dict[str, Kind] = {
    "system": "system", "developer": "system", "user": "user", "human": "user", "assistant": "assistant",
    "ai": "assistant", "model": "assistant", "tool": "result", "function": "result",
}  # fmt: skip
_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}
_PICTURES = ("image", "image_url", "input_image", "document", "input_file", "file", "audio", "input_audio")
"""A tuple: what is looked for in it may be of any type."""
_BLOBS = frozenset({
    "encrypted_content", "signature", "thought_signature", "thoughtSignature", "data", "b64_json", "file_data",
    "partial_image_b64", "result",
})  # fmt: skip
_SHORT_BLOB = 200


class Part(msgspec.Struct, eq=False, gc=False):
    """One piece of a message, with what its step needs to know of it."""

    kind: Kind
    text: str | None
    call_id: str | None = None
    tool: str | None = None
    arguments: str | None = None
    """For a call: canonical JSON, or the text as given."""
    failed: bool | None = None
    """For a result: what the format itself says."""
    tokens: int | None = None
    """Only where the count of the text is not what the model pays."""


class Message(msgspec.Struct, eq=False):
    role: Role
    parts: list[Part]
    opaque: bool = False
    """It is a compaction whose content is encrypted or missing."""
    compaction: bool = False
    id: str | None = None


def compact_json(value: object) -> str:
    """Canonical JSON: keys sorted, no spaces, non-ASCII as it is."""
    return canonical(value)


def arguments_text(value: object) -> str:
    """Arguments of a call as canonical JSON; a string that is JSON is decoded first, other text stays as given."""
    if isinstance(value, str):
        try:
            return compact_json(decode(value.encode("utf-8", "surrogatepass")))
        except ValueError:
            return value
    return compact_json({} if value is None else value)


def call_text(tool: str, arguments: str) -> str:
    return f"{tool} {arguments}"


def is_summary(text: str) -> bool:
    """Whether a user text is the preamble of a compaction."""
    return text.lstrip().startswith(_SUMMARY_HEADS) or _SUMMARY_TITLE.match(text[:_TITLE_CHARACTERS]) is not None


def is_message(value: object) -> bool:
    """Whether it looks like a message or item of one of the shapes."""
    if not isinstance(value, Mapping):
        return False
    if isinstance(value.get("role"), str):
        return True
    sort = value.get("type")
    if not isinstance(sort, str):
        return False
    if sort in _IN_PLACE_OF_A_ROLE:
        return "content" in value  # else it is a framework's wrapping, with what was said inside
    return sort in _ITEM_TYPES or sort.endswith(("_call", "_call_output"))


_ITEM_TYPES = frozenset({
    "message", "reasoning", "compaction", "function_call", "function_call_output", "item_reference",
})  # fmt: skip
_IN_PLACE_OF_A_ROLE = frozenset({"human", "ai", "tool", "system"})


def split(message: Mapping[str, Any]) -> Message:
    """The pieces of one message, in order. Never raises: what is not understood becomes an `other` piece."""
    role, kind_of_item = message.get("role"), message.get("type")
    ident = message.get("id")
    name = str(ident) if isinstance(ident, str | int) else None
    if isinstance(kind_of_item, str) and not isinstance(role, str):
        if kind_of_item in ("human", "ai", "system", "tool"):
            role = kind_of_item
        elif kind_of_item != "message":
            result = _item(message, kind_of_item)
            result.id = name
            return result
    kind = _ROLE_KIND.get(role, "other") if isinstance(role, str) else "other"
    if kind == "result":
        return Message("result", _chat_result(message), id=name)
    parts: list[Part] = []
    if kind == "assistant":
        for key in ("reasoning_content", "reasoning"):
            if isinstance(message.get(key), str) and message[key]:
                parts.append(Part("thinking", message[key]))
                break
    _content(message.get("content"), kind, parts)
    if isinstance(message.get("refusal"), str) and message["refusal"]:
        parts.append(Part("assistant", message["refusal"]))
    if kind == "assistant":
        _chat_calls(message, parts)
    if kind == "user" and _only_results(parts):
        return Message("result", parts, id=name)
    opaque = compaction = False
    for part in parts:
        if part.kind == "summary":
            compaction, opaque = True, opaque or part.text is None
    return Message(_ROLES.get(kind, "other"), parts, opaque, compaction, name)


def _only_results(parts: list[Part]) -> bool:
    """Results and the pictures in them, and nothing else."""
    kinds = {part.kind for part in parts}
    return not kinds.isdisjoint(("result", "error")) and kinds <= {"result", "error", "image"}


def _content(content: object, kind: Kind, parts: list[Part]) -> None:
    if content is None:
        return
    if isinstance(content, str):
        if content or kind != "assistant":
            parts.append(Part(_told(content, kind), content))
        return
    if not isinstance(content, list):
        parts.append(Part("other", compact_json(content)))
        return
    for block in content:
        if isinstance(block, str):
            parts.append(Part(_told(block, kind), block))
        elif isinstance(block, Mapping):
            _block(block, kind, parts)
        else:
            parts.append(Part("other", compact_json(block)))


def _told(text: str, kind: Kind) -> Kind:
    if kind in ("user", "system") and is_summary(text):
        return "summary"
    if kind in ("user", "system") and text.lstrip().startswith("<retrieved_memory"):
        return "recall"
    return kind


def _block(block: Mapping[str, Any], kind: Kind, parts: list[Part]) -> None:
    sort = block.get("type")
    text = block.get("text")
    if sort in ("text", "input_text", "output_text", None) and isinstance(text, str):
        parts.append(Part(_told(text, kind), text))
    elif sort == "thinking":
        thought = block.get("thinking")
        if isinstance(thought, str) and thought:
            parts.append(Part("thinking", thought))
    elif sort == "reasoning":
        texts = _reasoned(block)
        parts.append(Part("thinking", "\n".join(texts) if texts else None))
    elif sort == "redacted_thinking":
        parts.append(Part("thinking", None))
    elif sort in ("tool_use", "server_tool_use", "toolCall"):
        tool = str(block.get("name") or "?")
        arguments = arguments_text(block.get("input", block.get("arguments")))
        parts.append(Part("call", call_text(tool, arguments), _text(block.get("id")), tool, arguments))
    elif isinstance(sort, str) and sort.endswith("tool_result"):
        parts.extend(_block_result(block))
    elif sort in _PICTURES:
        parts.append(image(block))
    elif sort == "compaction":
        content = block.get("content")
        parts.append(Part("summary", content if isinstance(content, str) else None))
    elif sort == "refusal" and isinstance(block.get("refusal"), str):
        parts.append(Part(kind, block["refusal"]))
    else:
        parts.append(Part("other", compact_json(without_blobs(block))))


def image(block: Mapping[str, Any]) -> Part:
    """A picture: a flat estimate of tokens, and its size in words instead of its payload."""
    size = _payload(block)
    sort = str(block.get("type"))
    label = "image" if "image" in sort else "audio" if "audio" in sort else "document"
    return Part("image", f"{label}, {_bytes(size)}" if size else label, tokens=IMAGE_TOKENS)


def _payload(value: object) -> int:
    if isinstance(value, str):
        return len(value) if len(value) > 200 else 0
    if isinstance(value, Mapping):
        return sum(_payload(item) for item in value.values())
    return 0


def _bytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB" if size >= 100_000 else f"{size / 1000:.1f} kB"


def _flat(content: object) -> tuple[str | None, list[Part]]:
    """(text of a result, its pictures): a string, or blocks whose texts are joined. A picture is a piece of its own and
    is named in the text with a digest of its payload, so that two pictures are two results."""
    if content is None or isinstance(content, str):
        return content, []
    if not isinstance(content, list):
        return compact_json(content), []
    texts: list[str] = []
    pictures: list[Part] = []
    for block in content:
        if isinstance(block, str):
            texts.append(block)
        elif not isinstance(block, Mapping):
            continue
        elif isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif str(block.get("type")) in _PICTURES:
            picture = image(block)
            texts.append(f"[{picture.text}, {xxhash.xxh3_64_hexdigest(encode(block))[:8]}]")
            pictures.append(picture)
        else:
            texts.append(compact_json(without_blobs(block)))
    return "\n".join(texts), pictures


def without_blobs(value: object, depth: int = 0) -> object:
    """The value with ciphertexts, signatures and payloads left out: they are no text that anybody reads."""
    if depth > 20:
        return value
    if isinstance(value, Mapping):
        return {
            key: f"({_bytes(len(item))})" if key in _BLOBS and isinstance(item, str) and len(item) > _SHORT_BLOB
            else without_blobs(item, depth + 1)
            for key, item in value.items()
        }  # fmt: skip
    if isinstance(value, list):
        return [without_blobs(item, depth + 1) for item in value]
    return value


def _block_result(block: Mapping[str, Any]) -> list[Part]:
    flag = block.get("is_error")
    text, pictures = _flat(block.get("content"))
    failed = flag if isinstance(flag, bool) else None
    return [Part("result", text or "", _text(block.get("tool_use_id")), failed=failed), *pictures]


def _chat_result(message: Mapping[str, Any]) -> list[Part]:
    flag = message.get("is_error")
    if message.get("status") == "error":
        flag = True
    text, pictures = _flat(message.get("content"))
    failed = flag if isinstance(flag, bool) else None
    tool = _text(message.get("name"))
    return [Part("result", text or "", _text(message.get("tool_call_id")), tool, failed=failed), *pictures]


def _chat_calls(message: Mapping[str, Any], parts: list[Part]) -> None:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, Mapping):
            parts.append(Part("other", compact_json(call)))
            continue
        function = call.get("function")
        body = function if isinstance(function, Mapping) else call
        custom = call.get("custom")
        if isinstance(custom, Mapping):
            body = custom
        tool = str(body.get("name") or "?")
        arguments = arguments_text(body.get("arguments", body.get("args", body.get("input"))))
        parts.append(Part("call", call_text(tool, arguments), _text(call.get("id")), tool, arguments))
    legacy = message.get("function_call")
    if isinstance(legacy, Mapping):
        tool = str(legacy.get("name") or "?")
        arguments = arguments_text(legacy.get("arguments"))
        parts.append(Part("call", call_text(tool, arguments), None, tool, arguments))


def _item(item: Mapping[str, Any], sort: str) -> Message:
    call_id = _text(item.get("call_id")) or _text(item.get("id"))
    if sort.endswith("_call_output"):
        text, pictures = _flat(item.get("output"))
        return Message("result", [Part("result", text or "", call_id), *pictures])
    if sort.endswith("_call"):
        tool = str(item.get("name") or sort.removesuffix("_call"))
        arguments = arguments_text(item.get("arguments", item.get("input", item.get("action"))))
        return Message("assistant", [Part("call", call_text(tool, arguments), call_id, tool, arguments)])
    if sort == "reasoning":
        texts = _reasoned(item)
        if texts:
            return Message("assistant", [Part("thinking", "\n".join(texts))])
        return Message("assistant", [Part("thinking", None)] if item.get("encrypted_content") else [])
    if sort in ("compaction", "context_compaction", "compaction_summary"):
        summary = item.get("content") or item.get("summary")
        text = _flat(summary)[0] if summary else None
        return Message("user", [Part("summary", text)], opaque=text is None, compaction=True)
    return Message("other", [Part("other", compact_json(without_blobs(item)))])


def _reasoned(block: Mapping[str, Any]) -> list[str]:
    """The readable texts of a reasoning item or block; ciphertext and signatures are none."""
    texts = [block[key] for key in ("reasoning", "text") if isinstance(block.get(key), str) and block[key]]
    for key in ("summary", "content"):
        for inner in _list(block.get(key)):
            if isinstance(inner, Mapping) and isinstance(inner.get("text"), str):
                texts.append(inner["text"])
    return texts


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
