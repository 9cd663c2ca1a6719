"""Latent Dirichlet allocation in a run directory."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from geodrift.data import Corpus, CorpusView, InputError
from geodrift.runs._fit import Engine
from geodrift.runs._model import Draws
from geodrift.runs._run import Run

TRANSFORM_DRAWS = 20  # topic draws that `transform` averages over, at most


class LatentDirichletModel:
    """See `Model`."""

    name = "lda"
    title = "latent Dirichlet allocation"
    evaluation_options = ()
    # A score takes 75 sweeps over the documents for each draw.
    evaluation_draws: int | None = 10
    # Counts and assignments are changed in place; a checkpoint holds a copy.
    memory_of_a_step = 2.0

    def setting_names(self) -> set[str]:
        """Names of the settings."""
        from geodrift.models.latent_dirichlet_allocation import Settings

        return {field.name for field in dataclasses.fields(Settings)}

    def takes_negative(self, settings: Mapping[str, Any]) -> bool:
        """Counts are not negative."""
        return False

    def engines(
        self,
        training: Corpus | CorpusView,
        settings: Mapping[str, Any],
        *,
        seed: int,
        chains: int,
        held_out: sp.csr_matrix | None,
    ) -> list[Engine]:
        """One engine a chain."""
        from geodrift.models.latent_dirichlet_allocation import Engine as LatentDirichletEngine
        from geodrift.models.latent_dirichlet_allocation import Settings

        made = Settings.from_dict(dict(settings))
        return [
            LatentDirichletEngine(training, made, seed=seed, chain=chain, held_out=held_out)
            for chain in range(chains)
        ]

    def rows(self, run: Run, counts: sp.csr_matrix) -> sp.csr_matrix:
        """The counts themselves."""
        return counts

    def common_order(self, topics: np.ndarray) -> np.ndarray:
        """By Bhattacharyya's coefficient."""
        from geodrift.models.latent_dirichlet_allocation import common_order

        return common_order(topics)

    def expected_topics(self, run: Run, topics: np.ndarray) -> np.ndarray:
        """The mean given the assignments of the first chain's last state, matched with the draws' mean."""
        from geodrift.models.latent_dirichlet_allocation import in_order_of, mean_topics

        kept = run.snapshot(0)
        if "expected_topics" not in kept:
            raise InputError(
                f"run {run.path} was written by another version: its expected topics are missing"
            )
        return in_order_of(kept["expected_topics"], mean_topics(topics))

    def summarise(self, topics: np.ndarray, vocabulary: list[str], top: int) -> list[dict[str, Any]]:
        """The most probable words."""
        from geodrift.models.latent_dirichlet_allocation import summarise_topics

        return summarise_topics(topics, vocabulary, top=top)

    def evaluate(self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int) -> dict[str, Any]:
        """Perplexity by document completion, coherence, exclusivity and diversity, in one table.

        A tenth of each document's words are scored given the others; coherence looks words up in the
        documents given.
        """
        from geodrift.models.latent_dirichlet_allocation import evaluate

        top = min(10, rows.shape[1])
        scores = evaluate(rows, draws["topics"], _prior(run, draws), seed=seed, top=top)
        return scores.pop("completion") | scores

    def sentence(self, scores: Mapping[str, Any]) -> str:
        """Perplexity and what it is of; a line of the topics' scores."""
        passed_over = scores["documents"] - scores["documents_scored"]
        perplexity = "infinite" if scores["perplexity"] is None else f"{scores['perplexity']:,.1f}"
        return (
            f"perplexity {perplexity} of {scores['held_out_tokens']:,} held-out words, given the other "
            f"{scores['observed_tokens']:,} of their {scores['documents_scored']:,} documents "
            f"(N = {scores['topic_draws']} topic draws; {passed_over:,} documents of fewer than two words "
            "left out)\n"
            + ", ".join(
                f"{name} {_shown(scores[name])}" for name in ("npmi", "u_mass", "exclusivity", "diversity")
            )
            + " (of the posterior mean, [90% interval of the draws])"
        )

    def transform(self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int) -> dict[str, np.ndarray]:
        """Under up to `TRANSFORM_DRAWS` of the draws, evenly spaced."""
        from geodrift.models.latent_dirichlet_allocation import document_mixtures

        number = len(draws["topics"])
        chosen = np.linspace(0, number - 1, min(TRANSFORM_DRAWS, number)).astype(int)
        some = {name: values[chosen] for name, values in draws.items()}
        return document_mixtures(rows, some["topics"], _prior(run, some), seed=seed)


def _shown(score: Mapping[str, float | None]) -> str:
    value, low, high = (
        "-" if score[name] is None else f"{score[name]:.3f}" for name in ("value", "low", "high")
    )
    return f"{value} [{low}, {high}]"


def _prior(run: Run, draws: Draws) -> Any:
    """The document prior: of each draw where it was learnt."""
    return draws.get("doc_topic_prior", run.config["settings"]["doc_topic_prior"])
