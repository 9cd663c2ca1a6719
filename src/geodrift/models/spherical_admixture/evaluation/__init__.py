"""Scores and summaries of topics."""
