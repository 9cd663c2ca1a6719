"""What topic models share: matching of topics, intervals of words, scores, and the scikit-learn facade."""
