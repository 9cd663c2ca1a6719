"""What the command line says of topics, for the specifications of topic models."""

from geodrift.models.kit._model import Summary

COMPONENT = "topic"
TRANSFORM_HELP = "The mixture of topics of each document"
EXPORT_HELP = "topics [draw, topic, word], vocabulary, hyperparameters (JSON), expected_topics [topic, word]"
SUMMARY = Summary(
    "topics",
    "Print each topic's words with 90% intervals and the chance of being among its ten highest.",
    "Words of a topic; where weights have a sign, at each end.",
)
