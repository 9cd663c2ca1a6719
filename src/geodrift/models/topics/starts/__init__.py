"""Topics that a run begins at: of another run, of another program, or from words that a reader gives."""
