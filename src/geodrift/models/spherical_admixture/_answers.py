"""What the Spherical Admixture Model answers."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift.data import Corpus, CorpusView
from geodrift.driver import Run
from geodrift.models.kit._chain import ModelChain
from geodrift.models.kit._component_answers import flat
from geodrift.models.kit._component_scores import Draws
from geodrift.models.kit._found_draws import draws_found, with_intervals_of_shared
from geodrift.models.kit._runs import document_frequencies
from geodrift.models.spherical_admixture._chain import Chain
from geodrift.models.spherical_admixture._settings import Settings
from geodrift.models.spherical_admixture.documents._mixtures import document_mixtures
from geodrift.models.spherical_admixture.documents._weighting import weight_rows
from geodrift.models.spherical_admixture.evaluation._log_perplexity import log_perplexity
from geodrift.models.spherical_admixture.model import THETA_DRAWS
from geodrift.models.topics._answers import TopicAnswers

# Mixture draws of so many documents are held at once.
DOCUMENTS_A_BLOCK = 500


class SphericalAdmixtureAnswers(TopicAnswers):
    """See `Answers`."""

    chain_type = Chain
    signed = True

    def chain(
        self,
        training: Corpus | CorpusView,
        settings: Settings,
        *,
        seed: int,
        chain: int,
        held_out: sp.csr_matrix | None,
        **shared: Any,
    ) -> ModelChain:
        """See `Answers.chain`; held-out counts are weighted like the training part."""
        aside = None
        if held_out is not None:
            frequencies, documents = training.document_frequencies, training.num_documents
            aside = weight_rows(held_out, settings.weighting, frequencies, documents)
        return super().chain(training, settings, seed=seed, chain=chain, held_out=aside, **shared)

    def rows(self, run: Run, counts: sp.csr_matrix) -> sp.csr_matrix:
        """The unit rows of the run's weighting."""
        weighting = run.config["settings"]["weighting"]
        return weight_rows(counts, weighting, document_frequencies(run), run.config["documents"])

    def score(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Log-perplexity with J = ``theta_draws`` mixtures from their prior."""
        theta_draws = options.get(THETA_DRAWS.name, THETA_DRAWS.default)
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

    # Two runs whose topics all had cosines above .997, one a little longer, were seven of the errors over
    # documents apart: these do not hold what chains differ by.
    score_decides = False

    def scores_of_documents(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int
    ) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " D"]]:
        """Log likelihood of each document; see `log_perplexity`."""
        settings = run.config["settings"]
        hyperparameters = settings["document_concentration"], settings["doc_topic_prior"]
        values = log_perplexity(rows, draws["topics"], *hyperparameters, seed=seed, per_document=True)
        return -values, np.ones(len(values))

    def sentence(self, scores: Mapping[str, Any]) -> str:
        """One line."""
        return (
            f"log-perplexity {scores['log_perplexity']:.2f} (N = {scores['topic_draws']} topic draws, "
            f"J = {scores['theta_draws']} mixture draws, {scores['documents']:,} documents, "
            f"{scores['empty_documents']:,} empty ones left out)"
        )

    def transform(
        self, run: Run, rows: sp.csr_matrix, *, seed: int, fitted: bool = False
    ) -> dict[str, Float[np.ndarray, "D K"]]:
        """Block by block; streams are named by a document's content, so its place does not matter."""
        return self.transformer(run, seed=seed, fitted=fitted)(rows)

    def transformer(
        self, run: Run, *, seed: int, intervals: bool = True, fitted: bool = False
    ) -> Callable[[sp.csr_matrix], dict[str, Float[np.ndarray, "D K"]]]:
        """The draws are aligned once for all documents."""
        del intervals, fitted
        draws, agreed = self.aligned(run)
        given = flat(draws)["topics"], Settings.from_dict(run.config["settings"])
        how: dict[str, Any] = {"found": draws_found(agreed), "seed": seed}

        def weigh(rows: sp.csr_matrix) -> dict[str, Float[np.ndarray, "D K"]]:
            blocks = [
                document_mixtures(rows[start : start + DOCUMENTS_A_BLOCK], *given, **how)
                for start in range(0, rows.shape[0], DOCUMENTS_A_BLOCK)
            ]
            weights = {
                name: np.concatenate([block[name] for block in blocks]) for name in ("mean", "low", "high")
            }
            return with_intervals_of_shared(weights, agreed)

        return weigh
