"""Samplers of the topics given the documents."""
