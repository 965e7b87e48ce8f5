"""What the demo's tools answer: files, test reports and long documents, made from a seed."""

from __future__ import annotations

import random

_WORDS = [
    "field",
    "record",
    "comma",
    "quote",
    "escape",
    "row",
    "header",
    "value",
    "parser",
    "token",
    "lexer",
    "buffer",
    "stream",
    "order",
    "line",
    "column",
    "delimiter",
    "carriage",
    "return",
    "rule",
    "state",
    "machine",
    "input",
    "output",
    "error",
    "recovery",
    "strict",
    "lenient",
    "dialect",
    "encoding",
    "newline",
    "blank",
    "comment",
    "nested",
    "trailing",
    "leading",
    "empty",
    "numeric",
    "string",
    "date",
    "amount",
    "currency",
    "customer",
    "region",
    "sample",
    "fixture",
]


def prose(seed: int, characters: int) -> str:
    """Sentences of about that many characters, the same for the same seed."""
    rng = random.Random(seed)
    out: list[str] = []
    size = 0
    while size < characters:
        sentence = " ".join(rng.choice(_WORDS) for _ in range(rng.randrange(7, 15))).capitalize() + "."
        out.append(sentence)
        size += len(sentence) + 1
    return " ".join(out)


def document(title: str, seed: int, characters: int) -> str:
    """A document with sections."""
    share = max(400, characters // 12)
    parts = [f"# {title}"]
    size = 0
    section = 1
    while size < characters:
        text = prose(seed * 100 + section, min(share, characters - size))
        parts.append(f"\n## {section}. {text.split('.')[0]}\n\n{text}")
        size += len(parts[-1])
        section += 1
    return "\n".join(parts)


LEXER = '''"""Cut a line of an order file into tokens."""

TOKEN_RE = r"[^,\\n]+"


def tokens(line: str) -> list[str]:
    out: list[str] = []
    start = 0
    for place, character in enumerate(line):
        if character == ",":
            out.append(line[start:place])
            start = place + 1
    out.append(line[start:])
    return out
'''


def source(name: str, seed: int, functions: int) -> str:
    """A module of small functions."""
    rng = random.Random(seed)
    parts = [f'"""{name}."""', ""]
    for index in range(functions):
        first, second = rng.choice(_WORDS), rng.choice(_WORDS)
        parts += [
            "",
            f"def {first}_{second}_{index}(value: str, limit: int = {rng.randrange(8, 512)}) -> str:",
            f'    """{prose(seed + index, 90)}"""',
            "    if len(value) > limit:",
            f"        raise ValueError('{first} too long: ' + value[:{rng.randrange(8, 60)}])",
            f"    return value.replace('{second}', '{first}')",
        ]
    return "\n".join(parts)


def failing_tests(seed: int) -> str:
    """A report with one failure; the time differs from run to run."""
    rng = random.Random(seed)
    return (
        "F....................... [100%]\n"
        "=================================== FAILURES ===================================\n"
        "______________________________ test_quoted_comma _______________________________\n\n"
        '    def test_quoted_comma() -> None:\n>       assert tokens(\'a,"b,c",d\') == ["a", "b,c", "d"]\n'
        "E       AssertionError: assert ['a', '\"b', 'c\"', 'd'] == ['a', 'b,c', 'd']\n\n"
        "tests/test_lexer.py:14: AssertionError\n"
        f"1 failed, 23 passed in {rng.uniform(1.6, 2.4):.2f}s"
    )


def passing_tests(count: int, seed: int) -> str:
    rng = random.Random(seed)
    dots = "\n".join(
        "." * 60 + f" [{min(100, (row + 1) * 6000 // max(count, 1)):3d}%]" for row in range(-(-count // 60))
    )
    return f"{dots}\n{count} passed in {rng.uniform(1.6, 4.4):.2f}s"
