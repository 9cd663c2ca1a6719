"""What every model is made with: its specification, its chain in a run, and its answers."""
