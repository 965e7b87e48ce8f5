"""Two experiments that show why an agent's memory matters; both are deterministic and call no model.

`experiment` is the water-meter experiment (a window silently drops fields of the state), `lab` the growing string
against the bounded state. Each has rows, a text table, a JSON document, a picture, and runs for the inspector.
"""
