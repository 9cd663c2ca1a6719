"""Variational inference for the same model."""
