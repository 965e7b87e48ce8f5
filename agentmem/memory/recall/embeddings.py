"""Embeddings for recall: what an embedder is, one that carries its weights, and how vectors are kept and compared.

The embedder of the `recall` extra (wordllama) works without a network: its weights are in its wheel. Measured on 16
facts and 16 paraphrased questions, first hit right: shared words 3 to 4, wordllama 10, at 0.07 ms a sentence.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Callable, Sequence
from importlib import import_module
from operator import mul
from pathlib import Path
from typing import Any, Protocol

Vector = Sequence[float]


class Embedder(Protocol):
    """Texts -> vectors. Vectors of one name can be compared with each other only."""

    @property
    def name(self) -> str:
        """Which model, with its dimensions: kept beside the vectors, which are made anew when it changes."""

    @property
    def floor(self) -> float:
        """The similarity below which two texts have nothing to do with each other."""

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, all of one length."""


class MissingExtra(ImportError):
    """A package of an extra is not installed; the message says how to install it."""


class WordLlamaEmbedder:
    """256 dimensions, in the process, offline."""

    name = "wordllama l2_supercat 256"
    floor = 0.12
    """Between unrelated pairs (mostly below) and paraphrases (mostly above) of a dozen questions tried."""

    def __init__(self) -> None:
        """Loads the weights from the package (about 0.1 s). Raises MissingExtra if it is not installed."""
        try:
            package = import_module("wordllama")
        except ImportError:
            raise MissingExtra(
                "embeddings need the package wordllama: pip install 'agentmem-inspector[recall]'"
            ) from None
        folder = Path(str(package.__file__)).parent
        self._model: Any = package.WordLlama.load(cache_dir=folder, disable_download=True)

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        clean = [text.encode("utf-8", "replace").decode() or " " for text in texts]
        return [[float(x) for x in row] for row in self._model.embed(clean, norm=True)] if clean else []


def embedded(key: str, value: str) -> str:
    """The text of a record to embed: `key: value`, or the value alone where the key says nothing (`u3`, `12`)."""
    return f"{key}: {value}" if any(map(str.isalpha, key)) and not any(map(str.isdigit, key)) else value


def pack(vector: Vector) -> bytes:
    """The vector at length 1, as little-endian 32-bit floats. Raises ValueError for one that has no direction."""
    length = math.sqrt(sum(map(mul, vector, vector)))
    if not math.isfinite(length):
        raise ValueError("an embedder gave a vector that is not finite")
    floats = array("f", (x / length for x in vector) if length else vector)
    if sys.byteorder == "big":
        floats.byteswap()
    return floats.tobytes()


def unpack(data: bytes) -> array[float]:
    """What `pack` packed."""
    floats = array("f", data)
    if sys.byteorder == "big":
        floats.byteswap()
    return floats


def scorer(query: bytes) -> Callable[[Sequence[bytes]], list[float]]:
    """Similarities of packed vectors with the packed `query`: their cosines, by numpy where it is installed."""
    wanted = unpack(query)
    try:
        numpy: Any = import_module("numpy")
    except ImportError:
        return lambda rows: [sum(map(mul, wanted, unpack(row))) for row in rows]

    def by_numpy(rows: Sequence[bytes]) -> list[float]:
        if not rows:
            return []
        table = numpy.frombuffer(b"".join(rows), dtype="<f4").reshape(len(rows), len(wanted))
        found: list[float] = (table @ numpy.asarray(wanted, dtype="<f4")).tolist()
        return found

    return by_numpy
