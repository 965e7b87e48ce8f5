"""T15: `agentmem --version` and `agentmem show` of a small file, against a bare interpreter.

    python -m benchmarks.commands
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from benchmarks.common import Row, in_child, interleave, report

RUN = "import sys; sys.argv = ['agentmem', *sys.argv[1:]]; from tui.__main__ import main; main()"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "a.json"
        path.write_text(json.dumps({"step": 1, "notes": "", "messages": [{"role": "user", "content": "x"}]}))
        home = {"HOME": name, "XDG_STATE_HOME": name}
        found = interleave({
            "bare": lambda: in_child("pass"),
            "version": lambda: in_child(RUN, "--version", env=home),
            "show": lambda: in_child(RUN, "show", str(path), env=home),
            "line": lambda: in_child(RUN, "line", str(path), env=home),
        }, 9)  # fmt: skip
        rows = [
            Row("python -c pass", found["bare.wall"]),
            Row("agentmem --version (s)", found["version.wall"], None, 0.15),
            Row("agentmem show (s)", found["show.wall"], None, 0.3),
            Row("agentmem line (s)", found["line.wall"], None, 0.3),
            Row("show against bare", found["show.cpu"], found["bare.cpu"]),
        ]
        print(report("T15 commands", rows))


if __name__ == "__main__":
    main()
