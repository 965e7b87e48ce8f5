"""What a command line does to the world, by the heads of its commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from agentmem.model import Effect
from agentmem.pattern import pattern

_LIMIT = 20_000
_PLAIN = pattern(r"[^\s;&|()<>\"'\\`$#]+")
_BARE = pattern(r"[ \t]*([^\s;&|()<>\"'\\`$#\d][^\s;&|()<>\"'\\`$#]*)(?=[ \t\n;|]|\Z)")
"""A word without quotes and signs, as most are, and the space before it; one that begins with a digit may redirect."""
_REDIRECT = pattern(r"(?:\d+|&)?(<<<|<<-?|>>|>\||>&|<>|<&|&>>|&>|>|<)")
_ASSIGNMENT = pattern(r"[A-Za-z_]\w*\+?=")
_HARMLESS = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "-")
_KEYWORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "coproc"})
_CLOSERS = frozenset({"fi", "done", "esac", "}", "]]", "break", "continue", "return", "exit"})
_WRAPPERS = frozenset({
    "sudo", "doas", "env", "nohup", "nice", "ionice", "timeout", "gtimeout", "command", "exec", "builtin",
    "stdbuf", "xargs", "setsid", "unbuffer", "chronic", "poetry", "pipenv", "uvx", "npx", "rtk", "eval",
})  # fmt: skip
_UNWRAPPED = _WRAPPERS | {"uv"}
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish"})
READS = frozenset({
    "cat", "bat", "head", "tail", "less", "more", "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ls",
    "ll", "dir", "tree", "pwd", "wc", "sort", "uniq", "cut", "paste", "tr", "awk", "gawk", "sed", "perl",
    "diff", "cmp", "comm", "file", "stat", "du", "df", "which", "whereis", "type", "echo", "printf", "printenv",
    "id", "whoami", "uname", "hostname", "ps", "top", "pgrep", "lsof", "netstat", "ss", "jq", "yq", "xxd", "od",
    "hexdump", "strings", "md5sum", "sha1sum", "sha256sum", "nl", "tac", "rev", "column", "test", "[", "[[",
    "true", "false", ":", "cd", "pushd", "popd", "export", "set", "unset", "man", "help", "history", "nproc",
    "free", "uptime", "ping", "dig", "nslookup", "host", "basename", "dirname", "realpath", "readlink", "find",
    "fd", "locate", "curl", "seq", "for", "case", "in", "read", "alias", "shopt", "ulimit", "date", "cal",
    "jobs", "nm", "objdump", "ldd", "tput", "clear", "fold", "fmt", "expand", "zcat", "lscpu", "env",
})  # fmt: skip
_TESTS = frozenset({
    "pytest", "py.test", "nose2", "tox", "nox", "jest", "vitest", "mocha", "rspec", "phpunit", "ctest", "mypy",
    "pyright", "flake8", "pylint", "shellcheck", "tsc", "unittest", "doctest", "bats", "eslint", "stylelint",
    "ruff", "black", "isort", "gofmt", "prettier", "golangci-lint", "basedpyright",
})  # fmt: skip
CHANGES = frozenset({
    "rm", "mv", "cp", "mkdir", "rmdir", "touch", "ln", "chmod", "chown", "chgrp", "dd", "truncate", "tee",
    "install", "patch", "rsync", "scp", "tar", "unzip", "zip", "gzip", "gunzip", "bzip2", "xz", "wget", "apt",
    "apt-get", "apk", "yum", "dnf", "brew", "pip", "pip3", "uv", "conda", "npm", "yarn", "pnpm", "bun", "cargo",
    "go", "make", "cmake", "ninja", "mvn", "gradle", "docker", "podman", "kubectl", "helm", "terraform",
    "systemctl", "service", "kill", "pkill", "killall", "crontab", "useradd", "usermod", "mount", "umount",
    "git", "gh", "hg", "svn", "gcc", "g++", "clang", "rustc", "javac", "shred", "unlink", "mkfifo", "autopep8",
    "ed", "ex", "alembic", "createdb", "dropdb", "str_replace_editor", "apply_patch", "edit", "create",
    "insert",
})  # fmt: skip
_WAITS = frozenset({"sleep", "wait", "watch", "inotifywait"})
_SUBREADS: dict[str, frozenset[str]] = {
    "git": frozenset({
        "status", "log", "diff", "show", "blame", "grep", "ls-files", "ls-tree", "rev-parse", "rev-list",
        "describe", "shortlog", "reflog", "cat-file", "ls-remote", "whatchanged", "merge-base", "name-rev",
        "help", "version", "--version",
    }),
    "pip": frozenset({"list", "show", "freeze", "check", "search", "index", "--version"}),
    "npm": frozenset({"ls", "list", "view", "outdated", "test", "t", "audit", "--version"}),
    "cargo": frozenset({"test", "check", "clippy", "tree", "metadata", "--version", "search"}),
    "go": frozenset({"test", "vet", "list", "version", "env", "doc"}),
    "make": frozenset({"test", "tests", "check", "lint", "-n", "--dry-run"}),
    "docker": frozenset({"ps", "images", "logs", "inspect", "stats", "version", "info", "top", "port", "history"}),
    "kubectl": frozenset({"get", "describe", "logs", "top", "explain", "version", "cluster-info", "diff"}),
    "systemctl": frozenset({"status", "is-active", "is-enabled", "list-units", "show", "cat"}),
    "apt": frozenset({"list", "search", "show", "policy"}),
    "helm": frozenset({"list", "status", "get", "template", "lint", "history"}),
    "terraform": frozenset({"plan", "show", "validate", "output", "version"}),
    "brew": frozenset({"list", "info", "search"}),
    "mvn": frozenset({"test"}),
    "gradle": frozenset({"test", "check"}),
    "uv": frozenset({"--version", "tree"}),
}  # fmt: skip
_SAME = {
    "pip3": "pip", "yarn": "npm", "pnpm": "npm", "bun": "npm", "podman": "docker", "apt-get": "apt", "apt-cache": "apt",
    "gawk": "awk", "svn": "git", "hg": "git", "./gradlew": "gradle",
}  # fmt: skip
_GH_READS = frozenset({"view", "list", "status", "checks", "diff"})
_SQL_CHANGE = pattern(r"\b(?:insert|update|delete|create|drop|alter|truncate|replace|grant|vacuum)\b", re.I)
_SQL_READ = pattern(r"\b(?:select|show|explain|describe|pragma)\b|\\d|\.tables|\.schema", re.I)
_SQL_CLIENTS = frozenset({"psql", "mysql", "sqlite3", "mariadb", "duckdb"})
_CURL_CHANGE = pattern(r"-[a-zA-Z]*[dFTO]\b.*|--(?:data|form|upload-file|json|remote-name|output).*")
_INPLACE = pattern(r"-[a-zA-Z]*i.*|--in-place.*")
_FIND_CHANGE = frozenset({"-delete", "-exec", "-execdir", "-ok", "-fprint"})
_PYTHON = pattern(r"(?:python|pypy)[\d.]*")
_SHORT = pattern(r"-[a-zA-Z]*c")


_PLAIN_READS = (
    READS - CHANGES - _TESTS - _WAITS - _SQL_CLIENTS - _SHELLS - _SUBREADS.keys()
    - {"sed", "perl", "yq", "awk", "find", "fd", "sort", "curl", "tail"}
)  # fmt: skip
"""Heads that only read, whatever their options."""


def sql_effect(text: str) -> Effect:
    """`reads` for a query, `changes` for what writes, `unknown` else."""
    if _SQL_CHANGE.search(text):
        return "changes"
    return "reads" if _SQL_READ.search(text) else "unknown"


def _word(text: str, at: int) -> tuple[str, int]:
    """One shell word from `at`, quotes taken off, and where it ends. Linear; an open quote runs to the end."""
    out: list[str] = []
    while at < len(text):
        plain = _PLAIN.match(text, at)
        if plain is not None:
            out.append(plain.group())
            at = plain.end()
            continue
        c = text[at]
        if c == "\\":
            if text[at + 1 : at + 2] != "\n":
                out.append(text[at + 1 : at + 2])
            at += 2
        elif c in "\"'`":
            end = at + 1
            while end < len(text) and text[end] != c:
                end += 2 if text[end] == "\\" and c != "'" else 1
            out.append(text[at + 1 : end])
            at = end + 1
        elif c == "$" and text[at + 1 : at + 2] == "(":
            depth, end = 1, at + 2
            while end < len(text) and depth:
                depth += (text[end] == "(") - (text[end] == ")")
                end += 1
            out.append(text[at:end])
            at = end
        elif c in "$#":
            out.append(c)
            at += 1
        else:
            break
    return "".join(out), at


def split(command: str) -> list[tuple[list[str], list[tuple[str, str]]]]:
    """The simple commands of a line: (words, redirections as (operator, target)). Here-documents are left out."""
    text = command[:_LIMIT]
    commands: list[tuple[list[str], list[tuple[str, str]]]] = []
    found: list[str] = []
    redirects: list[tuple[str, str]] = []
    endings: list[str] = []
    at = 0
    while at < len(text):
        plain = _BARE.match(text, at)
        if plain is not None:
            found.append(plain.group(1))
            at = plain.end()
            continue
        c = text[at]
        redirect = _REDIRECT.match(text, at) if c in "<>&" or c.isdecimal() else None
        if redirect is not None and not (c == "&" and text[at : at + 2] not in ("&>",)):
            at = redirect.end()
            while text[at : at + 1] in (" ", "\t", "&"):
                at += 1
            target, at = _word(text, at)
            redirects.append((redirect.group(1), target))
            if redirect.group(1) in ("<<", "<<-"):
                endings.append(target)
            continue
        if c in ";&|()\n":
            commands.append((found, redirects))
            found, redirects = [], []
            at += 1
            if c == "\n" and endings:
                at = _after_here_documents(text, at, endings)
                endings = []
        elif c in " \t\r\f\v" or c.isspace():
            at += 1
        elif c == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        else:
            word, end = _word(text, at)
            found.append(word)
            at = end if end > at else at + 1
    commands.append((found, redirects))
    return [(words, targets) for words, targets in commands if words or targets]


def _after_here_documents(text: str, at: int, endings: Sequence[str]) -> int:
    for ending in endings:
        while at < len(text):
            end = text.find("\n", at)
            stop = len(text) if end < 0 else end
            line = text[at:stop].strip()
            at = min(stop + 1, len(text))
            if line == ending:
                break
    return at


def unwrapped(words: Sequence[str]) -> list[str]:
    """The command without keywords, assignments and wrappers: `sudo -u x FOO=1 timeout 5 rm f` -> `rm f`."""
    if words and words[0] not in _KEYWORDS and words[0].rsplit("/", 1)[-1] not in _UNWRAPPED and "=" not in words[0]:
        return list(words)
    rest = list(words)
    wrapped = False
    while rest:
        head = rest[0].rsplit("/", 1)[-1]
        if rest[0] in _KEYWORDS or _ASSIGNMENT.match(rest[0]):
            rest.pop(0)
        elif head in _WRAPPERS and len(rest) > 1:
            rest.pop(0)
            wrapped = True
            if head in ("poetry", "pipenv") and rest[0] == "run":
                rest.pop(0)
        elif head == "uv" and rest[1:2] == ["run"] and len(rest) > 2:
            rest = rest[2:]
            wrapped = True
        elif wrapped and (rest[0].startswith("-") or rest[0].rstrip("smhd").replace(".", "").isdigit()):
            takes = rest[0] in ("-u", "-n", "-I", "-g", "-k", "--user", "-P", "--with") and len(rest) > 2
            del rest[: 2 if takes else 1]
        else:
            break
    return rest


def _changes_files(redirects: Sequence[tuple[str, str]]) -> bool:
    return any(
        ">" in operator and target not in _HARMLESS and not (operator == ">&" and target.isdigit()) and not
        (target.isdigit() and operator == ">")
        for operator, target in redirects
    )  # fmt: skip


def _one(words: list[str], depth: int) -> Effect:
    """The effect of one simple command, keywords and wrappers taken off."""
    if not words or words[0] in _CLOSERS:
        return "reads"
    head = words[0].rsplit("/", 1)[-1] if not words[0].startswith("./") else words[0]
    head = _SAME.get(head, head)
    rest = words[1:]
    if head in _SHELLS:
        script = next((rest[i + 1] for i, w in enumerate(rest[:-1]) if _SHORT.fullmatch(w)), None)
        return command_effect(script, depth + 1) if script is not None and depth < 4 else "unknown"
    if head in _PLAIN_READS:
        return "reads"
    if _PYTHON.fullmatch(head):
        return _one(unwrapped(rest[rest.index("-m") + 1 :]), depth) if "-m" in rest[:-1] and depth < 4 else "unknown"
    if head in _WAITS or (head == "tail" and any(w in ("-f", "-F", "--follow") for w in rest)):
        return "waits"
    if head in _SQL_CLIENTS:
        return sql_effect(" ".join(rest))
    return _by_options(head, rest)


def _by_options(head: str, rest: list[str]) -> Effect:
    plain = [w for w in rest if not w.startswith("-")]
    first = plain[0] if plain else (rest[0] if rest else "")
    if head in ("sed", "perl", "yq", "awk"):
        return "changes" if any(_INPLACE.fullmatch(w) for w in rest) else "unknown" if head == "perl" else "reads"
    if head in ("find", "fd"):
        return "changes" if "-delete" in rest else "unknown" if _FIND_CHANGE & set(rest) else "reads"
    if head == "sort" and "-o" in rest:
        return "changes"
    if head == "curl":
        method = next((rest[i + 1] for i, w in enumerate(rest[:-1]) if w in ("-X", "--request")), "GET").upper()
        asks = method in ("GET", "HEAD", "OPTIONS")
        return "reads" if asks and not any(_CURL_CHANGE.fullmatch(w) or w == "-o" for w in rest) else "changes"
    if head == "git":
        return _git(rest)
    if head == "gh":
        return "waits" if plain[:2] == ["run", "watch"] else "reads" if set(plain[1:2]) & _GH_READS else "changes"
    if head == "npm" and first == "run":
        return "reads" if plain[1:2] and re.match(r"test|lint|check|typecheck", plain[1]) else "changes"
    if head == "tar":
        return "reads" if first and re.fullmatch(r"-?[a-z]*t[a-z]*", rest[0]) and "x" not in rest[0] else "changes"
    if head == "unzip":
        return "reads" if "-l" in rest else "changes"
    if head == "wget":
        return "reads" if "-O-" in rest or "--spider" in rest or "-qO-" in rest else "changes"
    if head in _SUBREADS:
        return "reads" if first in _SUBREADS[head] else "changes"
    if head in _TESTS:
        return _checker(head, rest)
    if head in READS:
        return "reads"
    return "changes" if head in CHANGES else "unknown"


def _checker(head: str, rest: list[str]) -> Effect:
    writes = any(w.startswith(("--fix", "--write")) or w == "-w" for w in rest)
    if writes or (head == "ruff" and rest[:1] == ["format"]):
        return "reads" if "--check" in rest else "changes"
    if head in ("black", "isort"):
        return "reads" if {"--check", "--diff", "--check-only"} & set(rest) else "changes"
    return "reads"


def _git(rest: list[str]) -> Effect:
    words = list(rest)
    while words and words[0].startswith("-") and words[0] != "--version":
        del words[: 2 if words[0] in ("-C", "-c", "--git-dir", "--work-tree") else 1]
    verb, more = (words[0], words[1:]) if words else ("help", [])
    if verb in _SUBREADS["git"]:
        return "reads"
    named = [w for w in more if not w.startswith("-")]
    if verb in ("branch", "tag", "remote") and not named and not {"-d", "-D", "-m", "-f"} & set(more):
        return "reads"
    if verb in ("stash", "remote", "worktree", "submodule") and named[:1] and named[0] in ("list", "show", "status"):
        return "reads"
    if verb == "config" and ({"--get", "-l", "--list", "--get-all"} & set(more)):
        return "reads"
    return "changes"


@lru_cache(maxsize=256)
def command_effect(command: str, depth: int = 0) -> Effect:
    """What a whole command line does: `changes` before `unknown` before `waits` before `reads`.

    A sleep beside commands that only look is a poll and waits; a sleep before a test run or a change is not.
    """
    effects: set[Effect] = set()
    bares: list[list[str]] = []
    for words, redirects in split(command):
        if redirects and _changes_files(redirects):
            effects.add("changes")
        if not words:
            continue
        bare = unwrapped(words)
        bares.append(bare)
        effects.add(_one(bare, depth))
    if "changes" in effects:
        return "changes"
    if "unknown" in effects or not effects:
        return "unknown"
    if "waits" in effects:
        return "reads" if any(map(is_test, bares)) else "waits"
    return "waits" if all(bare[:1] == ["date"] for bare in bares) else "reads"


def is_test(bare: Sequence[str]) -> bool:
    return any(w.rsplit("/", 1)[-1] in _TESTS for w in bare[:3]) or bare[1:2] in (["test"], ["check"])


def substitutions(command: str) -> Iterator[tuple[str, str, str]]:
    """In-place replacements of a command line: (file, old, new) for each `sed -i s/old/new/ file`."""
    for words, _ in split(command):
        rest = unwrapped(words)
        if rest[:1] not in (["sed"], ["perl"]) or not any(_INPLACE.fullmatch(w) for w in rest[1:]):
            continue
        plain = [w for w in rest[1:] if not w.startswith("-")]
        scripts = [w for w in plain if len(w) > 3 and w[0] == "s" and not w[1].isalnum() and w.count(w[1]) >= 2]
        for script in scripts:
            _, old, new, *_ = [*re.split(rf"(?<!\\){re.escape(script[1])}", script), "", ""]
            for path in plain:
                if path and path not in scripts:
                    yield path, old, new
