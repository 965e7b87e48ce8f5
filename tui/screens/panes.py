"""Which widget shows which pane. Imported when a pane is first needed: the first paint needs one."""

from __future__ import annotations

from ..widgets.rows import Pane


def make(ident: str) -> Pane:
    """A new pane. Raises KeyError for an unknown name."""
    match ident:
        case "steps":
            from ..widgets.steps import StepsPane

            return StepsPane()
        case "prompt":
            from ..widgets.prompt.pane import PromptPane

            return PromptPane()
        case "lost":
            from ..widgets.panes.lost import LostPane

            return LostPane()
        case "loops":
            from ..widgets.panes.loops import LoopsPane

            return LoopsPane()
        case "state":
            from ..widgets.panes.state import StatePane

            return StatePane()
        case "lifelines":
            from ..widgets.panes.lifelines import LifelinesPane

            return LifelinesPane()
    raise KeyError(ident)
