"""The water-meter experiment: a window over state and trace silently drops what a later call needs.

`run`, `profile`, `published_rows` and `document` give figures, the `*_table` functions text, `plot_svg` a picture,
`simulate` one task step by step, `write_runs` checkpoints for the inspector.
"""

from agentmem.experiments.experiment.picture import plot_svg
from agentmem.experiments.experiment.rows import (
    PROFILE_TASK,
    SEED_OFFSETS,
    WINDOWS,
    ProfileRow,
    Row,
    document,
    dropped_table,
    parse_window,
    profile,
    profile_table,
    published_rows,
    published_table,
    rows_table,
    run,
    window_text,
)
from agentmem.experiments.experiment.runs import run_id, write_runs
from agentmem.experiments.experiment.simulate import Call, Trace, simulate
from agentmem.experiments.experiment.world import Task, tasks

__all__ = [
    "PROFILE_TASK",
    "SEED_OFFSETS",
    "WINDOWS",
    "Call",
    "ProfileRow",
    "Row",
    "Task",
    "Trace",
    "document",
    "dropped_table",
    "parse_window",
    "plot_svg",
    "profile",
    "profile_table",
    "published_rows",
    "published_table",
    "rows_table",
    "run",
    "run_id",
    "simulate",
    "tasks",
    "window_text",
    "write_runs",
]
