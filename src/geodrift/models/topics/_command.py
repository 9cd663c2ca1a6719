"""The command that prints topics, for the specifications of topic models."""

from geodrift.models.kit._model import Summary

COMPONENT = "topic"
SUMMARY = Summary(
    "topics",
    "Print each topic's words with 90% intervals and the chance of being among its ten highest.",
    "Words of a topic; where weights have a sign, at each end.",
)
