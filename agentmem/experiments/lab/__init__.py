"""The lab: one long task with a growing string and with the bounded state, and what that does to the goal.

`run` gives both runs row by row, `lab_table` text, `Lab.to_dict` JSON, `plot_svg` a picture, `write_runs` checkpoints
for the inspector.
"""

from agentmem.experiments.lab.picture import plot_svg
from agentmem.experiments.lab.runs import write_runs
from agentmem.experiments.lab.turns import (
    ITERATIONS,
    MOST_ITERATIONS,
    Lab,
    Row,
    Turn,
    goal,
    lab_table,
    run,
    state_run,
    string_run,
    verdicts,
)

__all__ = [
    "ITERATIONS",
    "MOST_ITERATIONS",
    "Lab",
    "Row",
    "Turn",
    "goal",
    "lab_table",
    "plot_svg",
    "run",
    "state_run",
    "string_run",
    "verdicts",
    "write_runs",
]
