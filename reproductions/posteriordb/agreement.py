"""Two more samplers against the stored reference: uncollapsed Gibbs sampling, and the library's default.

    python reproductions/posteriordb/agreement.py --data FOLDER [--only NAME ...]

after `reference.py`; writes ``results/NAME.agreement.json``.
"""

import json
import time
from pathlib import Path

import numba
import numpy as np
import scipy.sparse as sp
from common import (
    CHAINS,
    HERE,
    PLANS,
    compared,
    exchanges,
    load,
    over_quantities,
    read_arguments,
    run,
    summary,
    write,
)
from quantities import Quantities
from samplers import Problem, Uncollapsed

from geodrift.data import Corpus
from geodrift.models.latent_dirichlet_allocation import Chain, Settings

SEED, LIBRARY_SEED = 2, 3
MOST_SWEEPS = 40  # uncollapsed, between draws: they take longer
LIBRARY_DRAWS = 500  # of a chain, after as many that are warm-up
SWEEPS = {"three": 5, "pride": 20}  # of the library, between draws


def library(problem: Problem, quantities: Quantities, sweeps: int) -> tuple[np.ndarray, list[str]]:
    """Draws ``[chain, draw, quantity]`` of the library's chain; it has no mixtures of documents."""
    ones, shape = np.ones(len(problem.words), np.int64), (problem.num_documents, problem.num_words)
    corpus = Corpus.from_matrix(sp.csr_matrix((ones, (problem.documents, problem.words)), shape))
    settings = Settings(
        n_topics=problem.num_topics,
        doc_topic_prior=problem.alpha,
        topic_word_prior=problem.beta,
        sweeps=sweeps,
    )
    names = [name for name in quantities.names if name.startswith(("log_joint", "topic", "words"))]
    found = []
    for number in range(CHAINS):
        chain, rows = Chain(corpus, settings, seed=LIBRARY_SEED, chain=number), []
        chain.begin(chain.shares.plan(2 * LIBRARY_DRAWS))
        for step in range(2 * LIBRARY_DRAWS):
            chain.step()  # of all documents
            if step >= LIBRARY_DRAWS:
                rows.append(values_of(chain, quantities))
        found.append(rows)
    return np.array(found), names


def values_of(chain: Chain, quantities: Quantities) -> np.ndarray:
    """The log joint, the topics' sizes and products of words at the present draw."""
    num_topics = chain.settings.n_topics
    sizes = np.bincount(chain.move.assignments, minlength=num_topics) / len(chain.move.assignments)
    words = quantities.word_products(chain.topics().T.astype(float))
    return np.concatenate([[chain.move.log_joint()], np.sort(sizes)[::-1], words])


def against(reference: dict, draws: np.ndarray, names: list[str], start: float) -> dict[str, object]:
    """What is stored of one sampler."""
    table = summary(draws, names)
    found = over_quantities(table) | compared(table, reference) | {"quantities": table}
    return found | {"seconds": round(time.monotonic() - start)}


def make(folder: Path, name: str) -> None:
    """One posterior."""
    stored = json.loads((HERE / "results" / f"{name}.json").read_text(encoding="utf-8"))
    problem, plan = load(folder, name), PLANS[name]
    plan = plan._replace(sweeps=min(plan.sweeps, MOST_SWEEPS))
    quantities, reference = Quantities(problem), stored["measured"]["quantities"]
    start = time.monotonic()
    draws, chains = run(problem, Uncollapsed, plan, SEED, quantities)
    uncollapsed = against(reference, draws, quantities.names, start) | exchanges(chains)
    start = time.monotonic()
    draws, names = library(problem, quantities, SWEEPS[name[:5]])
    of_library = against(reference, draws, names, start)
    settings = stored["settings"] | {"seed": SEED, "library_seed": LIBRARY_SEED}
    settings |= {"sweeps_between_draws": plan.sweeps}
    settings |= {"library_draws_of_a_chain": LIBRARY_DRAWS, "library_sweeps_between_draws": SWEEPS[name[:5]]}
    write(f"{name}.agreement", settings, {"uncollapsed": uncollapsed, "library": of_library})


if __name__ == "__main__":
    arguments = read_arguments(__doc__)
    numba.set_num_threads(1)  # no corpus here is large enough for more
    for name in arguments.only:
        make(arguments.data, name)
