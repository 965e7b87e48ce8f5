"""Makes the sample history of Aider in `aider/`; made again, it is the same to the byte.

python sample_runs/make_aider.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HISTORY = """
# aider chat started at 2026-05-04 08:12:31

> Aider v0.86.1
> Main model: claude-sonnet-4-5 with diff edit format
> Git repo: .git with 31 files
> Repo-map: using 4096 tokens, auto refresh

#### /add loom.py

> Added loom.py to the chat

#### Let the loom stop when a thread breaks. Never touch pattern.csv.

The loom can look at its sensors before each row:

```python
loom.py
<<<<<<< SEARCH
def row(self):
=======
def row(self):
    self.check_threads()
>>>>>>> REPLACE
```

> Tokens: 4.1k sent, 756 received. Cost: $0.02 message, $0.02 session.
> Applied edit to loom.py
> Commit 3f2a91c feat: stop when a thread breaks

#### /run pytest -q

> E   AttributeError: 'Loom' object has no attribute 'check_threads'
> 1 failed, 6 passed in 0.41s
> Add 0.1k tokens of command output to the chat? (Y)es/(N)o [Yes]: y

#### Fix it.

`check_threads` was never written. I will add it.

> Tokens: 5.3k sent, 1.2k cache hit, 310 received. Cost: $0.02 message, $0.04 session.
> The LLM did not conform to the edit format.
> # 1 SEARCH/REPLACE block failed to match!

Here is the block again, whole:

```python
def check_threads(self):
    return all(self.sensors)
```

> Tokens: 6k sent, 402 received. Cost: $0.03 message, $0.07 session.
> Applied edit to loom.py

# aider chat started at 2026-05-05 19:40:02

> Aider v0.86.1
> Main model: claude-sonnet-4-5 with diff edit format

#### Say which thread broke.
#### The number is enough.

The sensor's place is the number of the thread.

> Tokens: 3.9k sent, 188 received. Cost: $0.01 message, $0.01 session.
> Applied edit to loom.py
"""


def make(folder: Path) -> list[Path]:
    place = folder / "aider"
    place.mkdir(parents=True, exist_ok=True)
    path = place / "loom.chat.history.md"
    path.write_text(HISTORY, encoding="utf-8")
    return [path]


if __name__ == "__main__":
    for file in make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE):
        print(file)
