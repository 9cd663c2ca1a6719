"""Stochastic-gradient samplers: topics moved by a minibatch's counts, scaled to the corpus; and streams."""
