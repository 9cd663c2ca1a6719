"""The methods of the papers: topics moved by minibatches' counts scaled to the corpus, and streams."""
