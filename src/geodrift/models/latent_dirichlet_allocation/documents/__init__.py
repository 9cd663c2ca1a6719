"""Documents: minibatches, draws of assignments given the topics, and mixtures."""
