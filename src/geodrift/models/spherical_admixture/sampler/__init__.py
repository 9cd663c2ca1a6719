"""Moves of the topics."""
