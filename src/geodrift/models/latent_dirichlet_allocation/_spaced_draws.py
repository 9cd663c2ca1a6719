"""Topics under which documents are weighed: some draws of a run, or the means of its chains.

A topic that is drawn has a probability near 0 for most words of which it has no token, and expects a new
document less than the topic does when it is integrated out: the document seems to be of all topics a bit.
Each token's law has the mean topic. So a new document is weighed under the mean of the draws of each chain;
one that was fitted under the draws, whose tokens are its own.
"""

import itertools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from geodrift.driver import Run
from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._places import spaced
from geodrift.models.latent_dirichlet_allocation.evaluation._fold_in import checked_prior, checked_topics


def spaced_draws(
    run: Run, agreed: Agreement, most: int, fitted: bool
) -> tuple[Iterator[Float[np.ndarray, "K V"]], Float[np.ndarray, "N K"]]:
    """The topics of at most so many draws, and alpha in each.

    Args:
        run: The run.
        agreed: From its `ComponentAnswers.agreed`.
        most: The largest number of draws.
        fitted: Whether the documents are the run's own. Else the topics of a draw are its chain's means.
    """
    posterior = run.draws["posterior"].to_dataset()
    chains, draws, number = agreed.orders.shape
    places = [divmod(int(place), draws) for place in spaced(chains * draws, most)]
    every = np.broadcast_to(run.config["settings"]["doc_topic_prior"], agreed.orders.shape)
    if "doc_topic_prior" in posterior:
        every = posterior["doc_topic_prior"].values
    # Given or learnt, alpha is of topics in the order in which their chain has them.
    prior = np.stack([every[place][agreed.orders[place]] for place in places])

    def topics_of(place: tuple[int, int]) -> Float[np.ndarray, "K V"]:
        return posterior["topics"][place].values[agreed.orders[place]]

    def mean_of(chain: int) -> Float[np.ndarray, "K V"]:
        total = topics_of((chain, 0)).astype(np.float64)
        for draw in range(1, draws):
            total += topics_of((chain, draw))
        return (total / draws).astype(np.float32)

    def topics() -> Iterator[Float[np.ndarray, "K V"]]:
        for chain, of_chain in itertools.groupby(places, lambda place: place[0]):
            mean = None if fitted else mean_of(chain)
            for place in of_chain:
                found = topics_of(place) if mean is None else mean
                yield checked_topics(found, found.shape[1])[0]

    return topics(), checked_prior(prior, len(places), number)
