"""What the inspector says of a run, in words: verdict, status line, why a step failed, how a figure was counted."""
