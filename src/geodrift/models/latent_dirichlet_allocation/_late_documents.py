"""A warning where draws are of some of the documents alone: the others had not joined the chain yet."""

import warnings
from collections.abc import Sequence

from geodrift._errors import RunWarning
from geodrift.models.latent_dirichlet_allocation._minibatch_chain import MinibatchChain
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._kept_assignments import KeptAssignments


def warn_of_late_documents(chains: Sequence[MinibatchChain], num_steps: int) -> None:
    """Say so where the first draw was stored before every document had assignments.

    Args:
        chains: At the end of their steps, each on all of the documents.
        num_steps: That each of them has taken, in one plan.
    """
    plan = chains[0].shares.plan(num_steps)
    moves = [chain.move for chain in chains if isinstance(chain.move, KeptAssignments)]
    first = plan.warm_up + int(plan.stored[0]) if len(plan.stored) else plan.total
    late = [move for move in moves if not 0 <= move.complete_at < first]
    if not late:
        return
    number, never = len(late[0].seen), sum(int((~move.seen).sum()) for move in late) // len(late)
    ends = f"{never:,} of them never did" if never else "they did so later"
    warnings.warn(
        f"{len(late)} of {len(chains)} chains stored draws before all of the {number:,} documents had joined:"
        f" {ends}, and these draws are of the others alone; take more steps (n_steps), or a larger"
        " batch_size",
        RunWarning,
        stacklevel=3,
    )
