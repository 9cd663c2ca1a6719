"""The Spherical Admixture Model in a run directory."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from geodrift.data import Corpus, CorpusView
from geodrift.runs._fit import Engine
from geodrift.runs._model import Draws
from geodrift.runs._run import Run

# Mixture draws of so many documents are held at once.
DOCUMENTS_A_BLOCK = 500


class SphericalAdmixtureModel:
    """See `Model`."""

    name = "sam"
    title = "the Spherical Admixture Model"
    evaluation_options = ("theta_draws",)
    evaluation_draws: int | None = None
    # A step holds the old state, the new one, the gradient and the noise.
    memory_of_a_step = 4.0

    def setting_names(self) -> set[str]:
        """Names of the settings."""
        from geodrift.models.spherical_admixture import Settings

        return {field.name for field in dataclasses.fields(Settings)}

    def takes_negative(self, settings: Mapping[str, Any]) -> bool:
        """Vectors may be negative, counts not."""
        return settings.get("weighting") == "none"

    def engines(
        self,
        training: Corpus | CorpusView,
        settings: Mapping[str, Any],
        *,
        seed: int,
        chains: int,
        held_out: sp.csr_matrix | None,
    ) -> list[Engine]:
        """One engine a chain; held-out counts are weighted like the training part."""
        from geodrift.models.spherical_admixture import Engine as SphericalAdmixtureEngine
        from geodrift.models.spherical_admixture import Settings, weight_rows

        made = Settings.from_dict(dict(settings))
        aside = (
            None
            if held_out is None
            else weight_rows(held_out, made.weighting, training.document_frequencies, training.num_documents)
        )
        return [
            SphericalAdmixtureEngine(training, made, seed=seed, chain=chain, held_out=aside)
            for chain in range(chains)
        ]

    def rows(self, run: Run, counts: sp.csr_matrix) -> sp.csr_matrix:
        """The unit rows of the run's weighting."""
        from geodrift.models.spherical_admixture import weight_rows

        weighting = run.config["settings"]["weighting"]
        return weight_rows(counts, weighting, run.document_frequencies, run.config["documents"])

    def common_order(self, topics: np.ndarray) -> np.ndarray:
        """By cosines."""
        from geodrift.models.spherical_admixture import common_order

        return common_order(topics)

    def expected_topics(self, run: Run, topics: np.ndarray) -> np.ndarray:
        """Mean direction of each topic."""
        from geodrift.models.spherical_admixture import expected_topics

        return expected_topics(topics)

    def summarise(self, topics: np.ndarray, vocabulary: list[str], top: int) -> list[dict[str, Any]]:
        """Words at both ends."""
        from geodrift.models.spherical_admixture import summarise_topics

        return summarise_topics(topics, vocabulary, top=top)

    def evaluate(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int, theta_draws: int = 200
    ) -> dict[str, Any]:
        """Log-perplexity with J = ``theta_draws`` mixtures from their prior."""
        from geodrift.models.spherical_admixture import log_perplexity

        settings, empty = run.config["settings"], int((np.diff(rows.indptr) == 0).sum())
        value = log_perplexity(
            rows,
            draws["topics"],
            settings["document_concentration"],
            settings["doc_topic_prior"],
            theta_draws=theta_draws,
            seed=seed,
        )
        return {
            "log_perplexity": value,
            "theta_draws": theta_draws,
            "documents": rows.shape[0] - empty,
            "empty_documents": empty,
        }

    def sentence(self, scores: Mapping[str, Any]) -> str:
        """One line."""
        return (
            f"log-perplexity {scores['log_perplexity']:.2f} (N = {scores['topic_draws']} topic draws, "
            f"J = {scores['theta_draws']} mixture draws, {scores['documents']:,} documents, "
            f"{scores['empty_documents']:,} empty ones left out)"
        )

    def transform(self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int) -> dict[str, np.ndarray]:
        """Block by block; streams are named by a document's content, so its place does not matter."""
        from geodrift.models.spherical_admixture import Settings, document_mixtures

        topics, settings = draws["topics"], Settings.from_dict(run.config["settings"])
        blocks = [
            document_mixtures(rows[start : start + DOCUMENTS_A_BLOCK], topics, settings, seed=seed)
            for start in range(0, rows.shape[0], DOCUMENTS_A_BLOCK)
        ]
        return {name: np.concatenate([block[name] for block in blocks]) for name in ("mean", "low", "high")}
