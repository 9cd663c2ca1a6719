"""What the command line says of topics, for the specifications of topic models."""

from geodrift.models.kit._model import Summary

COMPONENT = "topic"
SIZES_OF_TOKENS = "words"  # of models whose sizes count tokens, each of them once
TRANSFORM_HELP = "The mixture of topics of each document; an interval only for topics that the chains share"
EXPORT_HELP = (
    "topics [draw, topic, word], topic_sizes [draw, topic], expected_topics [topic, word] (their "
    "mean over the draws of the chains that have found each), "
    "found [chain, topic] (which chain has found a topic), shared [topic] (whether enough have), "
    "vocabulary, hyperparameters (JSON)"
)
SUMMARY = Summary(
    "topics",
    "Print each topic's words with 90% intervals and the chance of being among its ten highest.",
    "Words of a topic; where weights have a sign, at each end.",
)
