"""Some draws of a run, evenly spaced and aligned, one in memory at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

from geodrift.driver import Run
from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._places import spaced
from geodrift.models.latent_dirichlet_allocation.evaluation._fold_in import checked_prior, checked_topics


def spaced_draws(
    run: Run, agreed: Agreement, most: int
) -> tuple[Iterator[Float[np.ndarray, "K V"]], Float[np.ndarray, "N K"]]:
    """The topics of at most so many draws, and alpha in each.

    Args:
        run: The run.
        agreed: From its `ComponentAnswers.agreed`.
        most: The largest number of draws.
    """
    posterior = run.draws["posterior"].to_dataset()
    chains, draws, number = agreed.orders.shape
    places = [divmod(int(place), draws) for place in spaced(chains * draws, most)]
    prior: Any = run.config["settings"]["doc_topic_prior"]
    if "doc_topic_prior" in posterior:
        learnt = posterior["doc_topic_prior"].values
        prior = np.stack([learnt[place][agreed.orders[place]] for place in places])

    def topics() -> Iterator[Float[np.ndarray, "K V"]]:
        for place in places:
            draw = posterior["topics"][place].values[agreed.orders[place]]
            yield checked_topics(draw, draw.shape[1])[0]

    return topics(), checked_prior(prior, len(places), number)
