"""The five tools of the water-meter experiment: each sees only the fields that its schema names.

A tool answers with fields for the state, or with `hata` (error) alone. Texts are Turkish because they are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentmem.experiments.experiment.world import charge, consumption, data, subscribers

Value = int | str | bool | None
Arguments = dict[str, Value]
"""Every field of the tool's schema; None where the state no longer has it."""
Answer = dict[str, Value]

_MISSING = "eksik alan"


def arguments(tool: str, state: Mapping[str, Value]) -> Arguments:
    """The fields that the tool's schema names, out of the state; an absent one is None."""
    return {name: state.get(name) for name in data().tools.get(tool, ())}


def call(tool: str, given: Arguments) -> Answer:
    """The tool's answer to these arguments."""
    run = _TOOLS.get(tool)
    return {"hata": "arac yok"} if run is None else run(given)


def _read_meter(given: Arguments) -> Answer:
    sub = subscribers().get(str(given.get("abone")))
    if sub is None:
        return {"hata": "abone yok"}
    return {"onceki": sub.onceki, "simdiki": sub.simdiki, "tip": sub.tip, "bolge": sub.bolge}


def _consumption(given: Arguments) -> Answer:
    before, now = given.get("onceki"), given.get("simdiki")
    if not isinstance(before, int) or not isinstance(now, int):
        return {"hata": _MISSING}
    return {"m3": consumption(before, now)}


def _tariff(given: Arguments) -> Answer:
    m3 = given.get("m3")
    if not isinstance(m3, int):
        return {"hata": _MISSING}
    return {"tutar": charge(m3, str(given.get("tip") or "mesken"))}


def _search_documents(given: Arguments) -> Answer:
    wanted = given.get("anahtar")
    if not wanted:
        return {"hata": _MISSING}
    pieces = _pieces(str(wanted))
    documents = data().documents
    best = max(documents, key=lambda code: len(pieces & _pieces(documents[code])))
    if not pieces & _pieces(documents[best]):
        return {"hata": "bulunamadi"}
    return {"kod": best, "metin": documents[best]}


def _write_record(given: Arguments) -> Answer:
    abone, sutun, deger = given.get("abone"), given.get("sutun"), given.get("deger")
    if not abone or not sutun or deger is None:
        return {"hata": _MISSING}
    return {"yazildi": True, "abone": abone, "sutun": sutun, "deger": deger}


def _pieces(text: str) -> frozenset[str]:
    """The distinct pieces that the counter `pieces5` counts."""
    words = text.lower().replace(",", " , ").split()
    return frozenset(word[i : i + 5] for word in words for i in range(0, len(word), 5))


_TOOLS: dict[str, Callable[[Arguments], Answer]] = {
    "sayac_oku": _read_meter,
    "tuketim": _consumption,
    "tarife": _tariff,
    "belge_ara": _search_documents,
    "kayit_yaz": _write_record,
}
