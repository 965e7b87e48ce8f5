"""The prompt pane: what the model saw, what it answered, what came back."""

from .pane import PromptPane

__all__ = ["PromptPane"]
