"""What latent Dirichlet allocation answers."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float

from geodrift.driver import Run
from geodrift.models.kit._agreement import Agreement
from geodrift.models.kit._answers import Findings
from geodrift.models.kit._component_answers import flat
from geodrift.models.kit._component_scores import Draws
from geodrift.models.kit._counts import checked_counts
from geodrift.models.kit._found_draws import draws_found, with_intervals_of_shared
from geodrift.models.kit._places import spaced
from geodrift.models.kit._spread_draws import spread_draws
from geodrift.models.kit._tables import paragraphs
from geodrift.models.latent_dirichlet_allocation._chain import Chain
from geodrift.models.latent_dirichlet_allocation._learnt_priors import (
    prior_lines,
    prior_numbers,
    told_priors,
    with_alpha,
)
from geodrift.models.latent_dirichlet_allocation._spaced_draws import spaced_draws
from geodrift.models.latent_dirichlet_allocation.documents._group_shares import (
    DRAWS_PER_TOPIC_DRAW,
    group_shares,
)
from geodrift.models.latent_dirichlet_allocation.documents._mixtures import Mixtures
from geodrift.models.latent_dirichlet_allocation.evaluation._chain_scores import (
    ChainScores,
    completion_by_chain,
)
from geodrift.models.latent_dirichlet_allocation.evaluation._completion import completion_perplexity
from geodrift.models.latent_dirichlet_allocation.evaluation._topic_checks import topic_checks
from geodrift.models.topics._answers import TRANSFORM_DRAWS, TopicAnswers
from geodrift.models.topics._expected_topics import expected_topics
from geodrift.models.topics._topic_scores import topic_scores
from geodrift.report._text import counted

PRIORS = ("doc_topic_prior", "topic_word_prior")


class LatentDirichletAnswers(TopicAnswers):
    """See `Answers`."""

    chain_type = Chain
    # A score takes 75 sweeps over the documents for each draw.
    evaluation_draws = 10
    tells_groups = True

    def score(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Perplexity by document completion, coherence, exclusivity and diversity, in one table.

        A tenth of each document's words are scored given the others; coherence looks words up in the
        documents given. Topics have the numbers of `summarise`, and each mean and interval is over the chains
        that have found the topic.
        """
        del options
        completion = completion_perplexity(rows, draws["topics"], _prior(run, draws), seed=seed).to_dict()
        (ordered, agreed), top = self.aligned(run), min(10, rows.shape[1])
        expected = expected_topics(ordered["topics"], agreed, self.signed)
        chains, length = ordered["topics"].shape[:2]
        chosen = spread_draws(length, len(draws["topics"]) // chains)
        some = flat({"topics": ordered["topics"][:, chosen]})["topics"]
        if len(some) == 1:
            return completion | topic_scores(expected, rows, top=top)
        found = draws_found(agreed, (np.arange(chains)[:, None] * length + chosen).ravel())
        return completion | topic_scores(expected, rows, draws=some, found=found, top=top)

    def completion_by_chain(self, run: Run, rows: sp.csr_matrix, *, seed: int) -> ChainScores:
        """Held-out tokens under the draws of each chain that `evaluate` uses."""
        posterior = run.draws["posterior"].to_dataset()
        chains, length = posterior["topics"].shape[:2]
        chosen = spread_draws(length, min(length, math.ceil(self.evaluation_draws / chains)))
        draws = {name: posterior[name][:, chosen].values for name in (*PRIORS, "topics") if name in posterior}
        return completion_by_chain(rows, draws["topics"], _prior(run, draws), seed=seed)

    def scores_of_documents(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int
    ) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " D"]]:
        """Log likelihood of each document's held-out words, by document completion, and their number."""
        found = completion_perplexity(rows, draws["topics"], _prior(run, draws), seed=seed)
        return found.document_log_likelihood, found.document_held_out_tokens.astype(np.float64)

    def sentence(self, scores: Mapping[str, Any]) -> str:
        """Perplexity and what it is of; a line of the topics' scores."""
        return completion_sentence(scores)

    def numbers(self, run: Run) -> dict[str, Float[np.ndarray, "C N"]]:
        """The stored ones, and of alpha where it was learnt; see `prior_numbers`."""
        stored = super().numbers(run)
        return stored | prior_numbers(_priors(run), _symmetric(run))

    def summarise(self, run: Run, top: int) -> Findings:
        """The priors beside the topics, where they were learnt."""
        found = super().summarise(run, top)
        numbers = told_priors(prior_numbers(_priors(run), _symmetric(run)))
        draws, agreed = self.aligned(run)
        if "doc_topic_prior" in draws and not _symmetric(run):
            found = found._replace(parts=with_alpha(found.parts, draws["doc_topic_prior"], agreed))
        return found._replace(numbers=numbers)

    def summary_text(self, found: Findings) -> str:
        """The priors before the topics."""
        return "\n\n".join([*map(paragraphs, prior_lines(found.numbers)), super().summary_text(found)])

    def summary_lines(self, found: Findings, width: int) -> str:
        """The priors after the topics."""
        lines = [paragraphs(line, width) for line in prior_lines(found.numbers)]
        return "\n\n".join([super().summary_lines(found, width), *lines])

    def closing(self, run: Run) -> list[str]:
        """The verdict and the priors."""
        return [
            *super().closing(run),
            *prior_lines(told_priors(prior_numbers(_priors(run), _symmetric(run)))),
        ]

    def export(self, run: Run) -> dict[str, np.ndarray]:
        """The same as for all topic models, and the draws of eta where it was learnt."""
        learnt = _priors(run)
        eta = {name: learnt[name].ravel() for name in ("topic_word_prior",) if name in learnt}
        return super().export(run) | eta

    def transform(
        self, run: Run, rows: sp.csr_matrix, *, seed: int, fitted: bool = False
    ) -> dict[str, Float[np.ndarray, "D K"]]:
        """Under up to `TRANSFORM_DRAWS` of the draws, evenly spaced."""
        return self.transformer(run, seed=seed, fitted=fitted)(rows)

    def transformer(
        self, run: Run, *, seed: int, intervals: bool = True, fitted: bool = False
    ) -> Callable[[sp.csr_matrix], dict[str, Float[np.ndarray, "D K"]]]:
        """The same for one block after the other; see `spaced_draws` for the topics of new documents."""
        agreed = self.agreed(run)
        found = draws_found(agreed, spaced(agreed.orders[..., 0].size, TRANSFORM_DRAWS))
        mixtures = Mixtures(*spaced_draws(run, agreed, TRANSFORM_DRAWS, fitted), seed, found=found)
        return lambda rows: with_intervals_of_shared(
            mixtures.of(checked_counts(rows), intervals=intervals), agreed
        )

    def documents_a_block(self, run: Run) -> int:
        """As many as have two million numbers."""
        return max(200, 2**21 // run.config["settings"]["n_topics"])

    def checks(self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int) -> list[dict[str, Any]]:
        """By mutual information, under up to `TRANSFORM_DRAWS` of the draws; see `topic_checks`."""
        agreed = self.agreed(run)
        some = _spaced({**_with_prior(run, flat(draws), agreed), "found": draws_found(agreed)})
        given = some["topics"], some["doc_topic_prior"], run.labels["word"]
        return topic_checks(rows, *given, found=some["found"], seed=seed)

    def group_shares(
        self, run: Run, *, seed: int
    ) -> tuple[
        Callable[[sp.csr_matrix, int], Float[np.ndarray, "M K"]],
        Bool[np.ndarray, "M K"],
        Bool[np.ndarray, " K"],
    ]:
        """Under up to `TRANSFORM_DRAWS` of the draws, evenly spaced; see `group_shares`."""
        draws, agreed = self.aligned(run)
        some = _spaced({**_with_prior(run, flat(draws), agreed), "found": draws_found(agreed)})
        told = agreed.shared if len(agreed.cosines) > 1 else np.ones(some["topics"].shape[1], bool)
        return (
            lambda rows, group: group_shares(
                rows, some["topics"], some["doc_topic_prior"], group=group, seed=seed
            ),
            np.repeat(some["found"], DRAWS_PER_TOPIC_DRAW, axis=0),
            told,
        )


def _spaced(draws: Draws) -> dict[str, np.ndarray]:
    """At most `TRANSFORM_DRAWS` of the draws."""
    chosen = spaced(len(draws["topics"]), TRANSFORM_DRAWS)
    return {name: values[chosen] for name, values in draws.items()}


def _priors(run: Run) -> dict[str, np.ndarray]:
    """Draws of the priors that were learnt, [chain, draw, ...]."""
    posterior = run.draws["posterior"].to_dataset()
    return {name: posterior[name].values for name in PRIORS if name in posterior}


def _symmetric(run: Run) -> bool:
    return run.config["settings"].get("learn_doc_topic_prior") == "symmetric"


def completion_sentence(scores: Mapping[str, Any]) -> str:
    """Perplexity by document completion and what it is of; a line of the topics' scores."""
    passed_over = scores["documents"] - scores["documents_scored"]
    perplexity = "infinite" if scores["perplexity"] is None else f"{scores['perplexity']:,.1f}"
    return (
        f"perplexity {perplexity} of {scores['held_out_tokens']:,} held-out words, given the other "
        f"{scores['observed_tokens']:,} of their {scores['documents_scored']:,} documents "
        f"(N = {scores['topic_draws']} topic draws; {counted(passed_over, 'document')} of fewer than two "
        "words left out)\n"
        + ", ".join(
            f"{name} {_shown(scores[name])}" for name in ("npmi", "u_mass", "exclusivity", "diversity")
        )
        + " (median of the draws [90% interval])"
    )


def _shown(score: Mapping[str, float | None]) -> str:
    value, low, high = (
        "-" if score[name] is None else f"{score[name]:.3f}" for name in ("median", "low", "high")
    )
    return f"{value} [{low}, {high}]"


def _prior(run: Run, draws: Draws) -> Any:
    """The document prior: of each draw where it was learnt; topics stand as their chains have them."""
    return draws.get("doc_topic_prior", run.config["settings"]["doc_topic_prior"])


def _with_prior(run: Run, draws: Draws, agreed: Agreement) -> dict[str, np.ndarray]:
    """Aligned draws, chain after chain, with alpha of the topic in each place where it was given, too."""
    given = np.broadcast_to(run.config["settings"]["doc_topic_prior"], agreed.orders.shape[2])
    return {"doc_topic_prior": given[agreed.orders].reshape(-1, len(given)), **draws}
