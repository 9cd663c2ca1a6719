"""How a collapsed Gibbs chain starts: with some of the documents, and with more topics than are asked for.

Topics form within a number of sweeps that does not depend on how many documents there are, if they are enough
to tell topics apart; then the other documents join. With more topics than are asked for every theme finds one
of its own; then they are merged (see `_merging`). A run too short for that does both by half of its warm-up.
"""

import dataclasses

from geodrift.driver import Plan
from geodrift.models.latent_dirichlet_allocation.documents._minibatch import TokenSource
from geodrift.models.latent_dirichlet_allocation.documents._vector_draw import LANES, padded

TOKENS_OF_A_STEP = 2**19
# The documents of the start: a quarter of the corpus, but between one and four steps' tokens.
SHARE = 4
MOST = 4
SWEEPS = 40  # over the documents of the start, until the others join
MOST_TOPICS_MORE = 200  # than are asked for; no more than as many again
MERGE_PASSES = 20  # over all documents, and `SWEEPS` sweeps in all, until the topics are merged
SETTLED = 0.87  # the time of a step over that of one near the start, which meets more topics in each document
DRAW_OVERHEAD = 16  # the time of a draw beside its vectors of topics, in vectors: at 20 to 1,200 topics


def topics_of_start(num_topics: int) -> int:
    """How many topics a chain starts with that is to have so many."""
    return num_topics + min(num_topics, MOST_TOPICS_MORE)


def documents_of(source: TokenSource, batch_size: int | None) -> tuple[int, int]:
    """Documents of a step and, in whole steps, of the start; ``batch_size`` is what was asked for."""
    num_documents, num_tokens = source.num_documents, source.num_tokens

    def with_tokens(tokens: int) -> int:
        return max(1, min(-(-tokens * num_documents // num_tokens), num_documents))

    of_step = with_tokens(TOKENS_OF_A_STEP) if batch_size is None else min(batch_size, num_documents)
    tokens = max(TOKENS_OF_A_STEP, min(num_tokens // SHARE, MOST * TOKENS_OF_A_STEP))
    steps = max(1, round(with_tokens(tokens) / of_step))
    return of_step, min(steps * of_step, num_documents)


@dataclasses.dataclass(frozen=True)
class Start:
    """When documents join and topics are merged; all of it is a function of the count of steps and the plan.

    Attributes:
        num_topics: That are asked for.
        sweeps: Over a document in one step.
        of_start: Steps of a pass over the documents of the start.
        of_all: Steps of a pass over all documents.
    """

    num_topics: int
    sweeps: int
    of_start: int
    of_all: int

    def joins(self, count: int, complete_at: int, plan: Plan | None) -> bool:
        """Whether the pass that begins after ``count`` steps goes over all documents.

        Args:
            count: Steps taken.
            complete_at: The step at whose end all documents had assignments; -1 before.
            plan: None while there is none.
        """
        return complete_at >= 0 or self._swept(count) or self._late(count, plan)

    def merges(self, count: int, complete_at: int, plan: Plan | None) -> bool:
        """Whether the topics are merged before the pass that begins after ``count`` steps; see `joins`."""
        passed = complete_at >= 0 and count - complete_at >= MERGE_PASSES * self.of_all
        return (passed and self._swept(count)) or self._late(count, plan)

    def steps_within(self, seconds: float, pace: float, count: int, present: int, warm_up: float) -> int:
        """How many steps fit in a time.

        Args:
            seconds: The time.
            pace: Seconds of a step with the present topics.
            count: Steps taken.
            present: Topics at present.
            warm_up: The share of the steps that is warm-up.
        """
        vectors, later_vectors = padded(present) / LANES, padded(self.num_topics) / LANES
        later = pace * SETTLED * (DRAW_OVERHEAD + later_vectors) / (DRAW_OVERHEAD + vectors)
        share = warm_up / 2  # of the steps, at most, with the topics of the start
        if present == self.num_topics:
            return int(seconds / pace)
        steps = seconds / (share * pace + (1 - share) * later)
        whole = -(-SWEEPS * self.of_start // self.sweeps) + MERGE_PASSES * self.of_all - count
        if whole < share * steps:
            steps = whole + (seconds - whole * pace) / later
        return int(steps)

    def _swept(self, count: int) -> bool:
        return count * self.sweeps >= SWEEPS * self.of_start

    def _late(self, count: int, plan: Plan | None) -> bool:
        # Not before a pilot ends, which has no plan: the same steps give the same draws without one.
        return plan is not None and count >= max((plan.warm_up - self.of_all) / 2, plan.pilot_ends)
