"""What the Dirichlet-process mixture answers."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from geodrift.driver import Run
from geodrift.models.clusters._command import other_columns
from geodrift.models.clusters._counted_answers import CountedAnswers
from geodrift.models.dirichlet_process_mixture._chain import Chain
from geodrift.models.dirichlet_process_mixture._settings import Settings
from geodrift.models.dirichlet_process_mixture.evaluation._log_predictive import (
    PARAMETERS,
    Drawn,
    averaged,
    under_draws,
)
from geodrift.models.dirichlet_process_mixture.evaluation._membership import lone_of_told, told_membership
from geodrift.models.kit._component_answers import flat
from geodrift.models.kit._component_scores import Draws
from geodrift.models.kit._fitted_among import times_among


class DirichletProcessAnswers(CountedAnswers):
    """See `Answers`; which clusters are told of is said in `kit._places`."""

    chain_type = Chain
    variable = "clusters"
    sizes = "cluster_sizes"

    def number_is_given(self, run: Run) -> bool:
        """See `CountedAnswers`."""
        return Settings.from_dict(run.config["settings"]).given is not None

    def score(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Minus the mean log density of a row, of the draws' average and of a single draw."""
        del seed, options
        logs = under_draws(rows, Drawn.of(draws), float(run.config["settings"]["cluster_word_prior"]))
        return {
            "nats": -float(averaged(logs).mean()),
            "nats_of_one_draw": -float(logs.mean()),
            "documents": rows.shape[0],
        }

    def scores_of_documents(
        self, run: Run, rows: sp.csr_matrix, draws: Draws, *, seed: int
    ) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " D"]]:
        """Log density of each row, of the draws' average."""
        del seed
        logs = under_draws(rows, Drawn.of(draws), float(run.config["settings"]["cluster_word_prior"]))
        return averaged(logs), np.ones(rows.shape[0])

    def sentence(self, scores: Mapping[str, Any]) -> str:
        """One line."""
        return (
            f"{scores['nats']:.4f} nats a row, averaged over {scores['cluster_draws']} draws;"
            f" {scores['nats_of_one_draw']:.4f} under one of them ({scores['documents']:,} rows)"
        )

    def transform(
        self, run: Run, rows: sp.csr_matrix, *, seed: int, fitted: bool = False
    ) -> dict[str, Float[np.ndarray, "D K"]]:
        """Probabilities of the clusters that are told of; of the rest too where their number is free."""
        return self.transformer(run, seed=seed, fitted=fitted)(rows)

    def transformer(
        self, run: Run, *, seed: int, intervals: bool = True, fitted: bool = False
    ) -> Callable[[sp.csr_matrix], dict[str, Float[np.ndarray, "D K"]]]:
        """The draws are read once for all rows."""
        del seed, intervals
        posterior, names = run.draws["posterior"].to_dataset(), (*PARAMETERS, "cluster_sizes")
        stored = flat({name: posterior[name].values for name in names if name in posterior})
        agreed, prior = self.aligned(run)[1], float(run.config["settings"]["cluster_word_prior"])
        others, lone = not self.number_is_given(run), None
        if fitted and others:
            times = functools.partial(times_among, run)
            lone = lone_of_told(stored, agreed, int(run.config["documents"]), times)
        how: dict[str, Any] = {"others": others, "fitted": fitted, "lone": lone}
        return lambda rows: told_membership(rows, stored, agreed, prior, **how)

    def other_columns(self, run: Run) -> list[str]:
        """Clusters that are not told of, unless their number is given."""
        return other_columns(not self.number_is_given(run), False)
