"""The papers' methods: weights and clusters are moved by minibatches' counts scaled to all rows."""
