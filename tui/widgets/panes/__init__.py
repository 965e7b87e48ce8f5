"""The panes beside steps and prompt, one file a pane."""
