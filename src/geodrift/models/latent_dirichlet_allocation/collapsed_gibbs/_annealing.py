"""Larger priors at first, and powers in a long warm-up: chains find better topics on the way, and settle.

With the priors of the model a chain settles in the first good topics that it meets, since each word and each
document stays with the few topics it has. With larger ones words and documents change topics more easily, and
as the priors become smaller the chain settles again, in topics that are more probable. Where documents hold
on to their topics, a long warm-up also draws topics with about a power of their probabilities, which is less
than 1 at first: that loosens what is common in a topic or a document, too. A chain that has cooled is still
too loose, and would tighten for hundreds of passes; so the power then rises above 1 for a while, which
tightens it in tens. Measured in `benchmarks/lda/annealing.py`.

All of it is warm-up: what follows is the Gibbs sampler with the priors of the model.
"""

import math
from typing import NamedTuple

import numpy as np

from geodrift.driver import Plan
from geodrift.models.latent_dirichlet_allocation._settings import Settings
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import TokenSource

# What the priors are worth at first: so much of a topic's tokens, and of a document's.
OF_TOPIC, OF_DOCUMENT = 0.03, 0.1
# When the priors become smaller, and when they are the model's: after so many passes over the documents, or
# so much of a shorter warm-up. A longer one would find no more, and forget where the chain has begun.
PASSES = 40, 130
BEGINS, ENDS = 0.4, 0.9
# The power at first, and after how many passes: a warm-up that begins to cool before that has none.
POWER, POWER_FROM = 0.8, 10
# Shares of the time from there to the end of the warm-up, and the heat at them: the power is `POWER` to the
# heat, at most 1.15.
COOLING = (0.0, 0.67, 0.73, 0.9, 0.97), (1.0, 0.0, -0.625, -0.625, 0.0)


class Annealing(NamedTuple):
    """Factors of the priors, 1 or more, and the power, at first.

    Attributes:
        documents: Of alpha.
        words: Of eta.
        power: Of the probabilities of topics, 1 or less at first.
    """

    documents: float = 1.0
    words: float = 1.0
    power: float = 1.0

    @classmethod
    def of(cls, source: TokenSource, settings: Settings) -> "Annealing":
        """Such that the priors are worth as much as is useful; those that are worth more stay as they are.

        So do those that are learnt: they would follow the assignments, and these them. With one that is
        learnt there is no power either, nor where alpha as it is lets documents change their topics.
        """
        of_documents = float(settings.document_prior.sum()) * source.num_documents
        of_words = settings.topic_word_prior * settings.n_topics * source.num_words
        documents = max(1.0, OF_DOCUMENT * source.num_tokens / of_documents)
        words = max(1.0, OF_TOPIC * source.num_tokens / of_words)
        return cls(
            documents if settings.learn_doc_topic_prior == "no" else 1.0,
            words if settings.learn_topic_word_prior == "no" else 1.0,
            1.0 if settings.learns_priors or documents == 1.0 else POWER,
        )

    def at(self, count: int, plan: Plan | None, of_pass: float) -> "Annealing":
        """What holds for the step that follows on ``count`` steps, of which a pass takes ``of_pass``."""
        left = share_left(count, plan, of_pass)
        return Annealing(self.documents**left, self.words**left, self.power ** heat(count, plan, of_pass))


def share_left(count: int, plan: Plan | None, of_pass: float) -> float:
    """How much of the larger priors is left: 1 at first, 0 after 130 passes or nine tenths of the warm-up.

    Until a pilot ends, which has no plan, it does not depend on the plan: the same steps give the same draws
    without one.
    """
    hot, cold = (passes * of_pass for passes in PASSES)
    left = (cold - count) / (cold - hot)
    if plan is not None:
        begins, ends = _cooling(plan)
        by_plan = (ends - count) / (ends - begins) if begins < ends else 1.0
        left = min(left, by_plan) if count < ends else 0.0
    return min(1.0, max(0.0, left))


def heat(count: int, plan: Plan | None, of_pass: float) -> float:
    """How far the power is from 1: 1 from pass 10 until a pilot ends, then by `COOLING`; 0 outside.

    Until a pilot ends it does not depend on the plan. A plan whose pilot has ended by pass 10 has no powers.
    """
    if count < POWER_FROM * of_pass:
        return 0.0
    if plan is None:
        return 1.0
    begins, _ = _cooling(plan)
    if begins <= POWER_FROM * of_pass or count >= plan.warm_up:
        return 0.0
    return float(np.interp((count - begins) / (plan.warm_up - begins), *COOLING))


def _cooling(plan: Plan) -> tuple[float, float]:
    """The steps between which a warm-up cools."""
    return max(math.ceil(BEGINS * plan.warm_up), plan.pilot_ends), ENDS * plan.warm_up
