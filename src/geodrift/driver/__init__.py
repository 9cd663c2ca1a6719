"""The driver: chains, plans, the loop that carries them out, and the run directory."""
