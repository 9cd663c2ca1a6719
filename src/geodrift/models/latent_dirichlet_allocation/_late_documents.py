"""Draws of some of the documents alone: the others had not joined the chain yet."""

from geodrift.driver import Plan
from geodrift.models.latent_dirichlet_allocation._topic_move import TopicMove
from geodrift.models.latent_dirichlet_allocation.collapsed_gibbs._kept_assignments import KeptAssignments


def late_documents(move: TopicMove, plan: Plan | None) -> str:
    """What to say where the first draw is stored before every document has assignments; nothing elsewhere.

    Args:
        move: At the end of its steps.
        plan: Of these.
    """
    if plan is None or not isinstance(move, KeptAssignments):
        return ""
    first = plan.warm_up + int(plan.stored[0]) if len(plan.stored) else plan.total
    if 0 <= move.complete_at < first:
        return ""
    never = int((~move.seen).sum())
    ends = f"{never:,} of them never did" if never else "they did so later"
    return (
        f"draws were stored before all of the {len(move.seen):,} documents had joined: {ends}, and these"
        " draws are of the others alone; take more steps, or larger batches"
    )
