"""The default method: collapsed Gibbs sampling of a minibatch of documents at each step, which is exact."""
