"""Variational relatives."""
