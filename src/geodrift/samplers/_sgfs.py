"""Stochastic gradient Fisher scoring; Ahn, Korattikara & Welling (2012), Algorithm 1."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from geodrift._errors import is_concrete
from geodrift._tree import as_float_arrays
from geodrift._types import Batch, Count, Position, RandomKey, Scalar, Shared
from geodrift.estimators import Minibatch
from geodrift.integrators._interpreter import outcome_without_velocities
from geodrift.manifolds import Manifold
from geodrift.metrics._dense import is_positive_definite
from geodrift.samplers._base import Sampler, StepInfo, check_position
from geodrift.samplers._langevin import check_flat, langevin_info
from geodrift.schedules import Schedule, as_schedule, check_positive

_FORMS = ("full", "diagonal")


class SGFSState(NamedTuple):
    """State of `SGFS`."""

    position: Position
    fisher: Float[Array, "..."]  # covariance of one datum's score, averaged over the steps: [d, d] or [d]
    estimator: Any  # the estimator's kept state
    count: Shared[Count]  # steps taken


class SGFS(Sampler):
    r"""Stochastic gradient Fisher scoring: exact for Gaussian posteriors, and `SGLD` at small step sizes.

    .. math:: x \leftarrow x + 2 M^{-1} (g + N(0, 2B/h)), \quad M = N \hat I + \hat V + 2B/h

    Ahn, Korattikara & Welling (2012), Algorithm 1. :math:`\hat I` is the covariance of one datum's score,
    averaged over all steps, and :math:`\hat V = (N^2/n) \hat I` that of the minibatch's gradient g, times
    1 - n/N where batches are drawn without replacement. The paper writes :math:`N \hat I + \hat V` as
    :math:`\gamma N \hat I` with :math:`\gamma = (n + N)/n`. The minibatch's noise is not subtracted: it is
    part of the noise that the dynamics need.

    For a Gaussian posterior of precision A = N I the law is exact at every h: the covariance that a step
    adds, :math:`4 M^{-1} (V + 2B/h) M^{-1}`, is the one that its contraction removes. The prior's precision P
    is not in :math:`\hat I`: in one dimension the variance is too large by the factor
    :math:`1 + P / (V + 2B/h - P)`.

    Args:
        estimator: `Minibatch`, because the scores of single data are needed. Its ``noise_variance`` is not
            used.
        manifold: Euclidean.
        step_size: h, the time of a step of `SGLD` with the metric B, its limit as h -> 0:
            :math:`h B^{-1}` is in the position's unit squared. The paper's epsilon is 2h, its B is B. A
            number or a `Schedule` of the count.
        form: ``"full"``, of cost d^3 in each step, or ``"diagonal"``, which uses only the diagonal of
            :math:`\hat I` and is exact for independent coordinates only.
        preconditioner: B: a positive number, positive ``[d]``, or (full form) a symmetric positive definite
            ``[d, d]``, over the entries of the position in the order of `jax.flatten_util.ravel_pytree`.

    Raises:
        ValueError: An argument is outside its range, or a batch holds a single datum.

    Invariant law: Gaussian posteriors as above, exactly; any other as h -> 0, where the noise of the
    minibatch's gradient is small beside 2B/h.
    """

    estimator: Minibatch
    manifold: Manifold
    step_size: Schedule = eqx.field(converter=as_schedule)
    form: str = eqx.field(static=True, default="full")
    preconditioner: Float[Array, "..."] = eqx.field(converter=as_float_arrays, default=1.0)

    def __check_init__(self) -> None:
        if not isinstance(self.estimator, Minibatch):
            raise ValueError(
                f"estimator = {type(self.estimator).__name__}: SGFS needs Minibatch, for each datum's score"
            )
        check_flat("SGFS", self.manifold)
        if self.form not in _FORMS:
            raise ValueError(f"form = {self.form!r}: must be one of {', '.join(_FORMS)}")
        _check_preconditioner(self.preconditioner, self.form)

    def on_all_data(self) -> "SGFS":
        """The same sampler for batches that are the whole data set, whose gradients have no noise."""
        return dataclasses.replace(self, estimator=self.estimator.on_all_data())

    def init(self, key: RandomKey, position: Position) -> SGFSState:
        """The state before the first step, which sets the covariance."""
        position = check_position(self.manifold, position)
        flat, _ = ravel_pytree(position)
        fisher = jnp.zeros((flat.size,) * (2 if self.form == "full" else 1), flat.dtype)
        return SGFSState(position, fisher, self.estimator.init(key, position), jnp.zeros((), jnp.int32))

    def step(self, key: RandomKey, state: SGFSState, batch: Batch = None) -> tuple[SGFSState, StepInfo]:
        """One step, with a batch of 2 data or more."""
        x, unravel = ravel_pytree(state.position)
        scores = self._scores(state.position, batch).astype(x.dtype)
        prior, _ = ravel_pytree(jax.grad(self.estimator.log_prior_at)(state.position))
        gradient = prior.astype(x.dtype) + self.estimator.data_size * jnp.mean(scores, axis=0)
        latest = self._covariance(scores)
        fisher = state.fisher + (latest - state.fisher) / (state.count + 1).astype(x.dtype)
        h = jnp.asarray(self.step_size(state.count), x.dtype)
        move = self._move(key, fisher, gradient, h, size=scores.shape[0])
        position = unravel(x + move)
        outcome = outcome_without_velocities(state.position, unravel(gradient), jnp.zeros((), bool))
        info = langevin_info(self.manifold, position, outcome)
        return SGFSState(position, fisher, state.estimator, state.count + 1), info

    def _scores(self, position: Position, batch: Batch) -> Float[Array, "batch d"]:
        gradients = self.estimator.per_datum_gradients(position, batch)
        return jax.vmap(lambda g: ravel_pytree(g)[0])(gradients)

    def _covariance(self, scores: Float[Array, "batch d"]) -> Float[Array, "..."]:
        """The sample covariance of the scores: ``[d, d]``, or its diagonal ``[d]``."""
        if scores.shape[0] < 2:
            raise ValueError(f"a batch of {scores.shape[0]}: SGFS needs 2 or more data for their covariance")
        deviations = scores - jnp.mean(scores, axis=0)
        if self.form == "full":
            return deviations.T @ deviations / (scores.shape[0] - 1)
        return jnp.sum(deviations**2, axis=0) / (scores.shape[0] - 1)

    def _move(
        self, key: RandomKey, fisher: Float[Array, "..."], gradient: Float[Array, " d"], h: Scalar, size: int
    ) -> Float[Array, " d"]:
        """``2 M^-1 (g + N(0, 2B/h))``; ``size`` is n, the size of the batch."""
        data_size = self.estimator.data_size
        noise_factor = data_size**2 / size * (1 if self.estimator.replacement else 1 - size / data_size)
        white = jax.random.normal(key, gradient.shape, gradient.dtype)
        injected = 2 * self.preconditioner.astype(h.dtype) / h
        if injected.ndim == 2:
            noisy = gradient + jnp.linalg.cholesky(injected) @ white
        else:
            noisy = gradient + jnp.sqrt(injected) * white
        scale = (data_size + noise_factor) * fisher
        if self.form == "diagonal":
            return 2 * noisy / (scale + injected)
        if injected.ndim < 2:
            injected = jnp.diag(jnp.broadcast_to(injected, gradient.shape))
        return 2 * jax.scipy.linalg.solve(scale + injected, noisy, assume_a="pos")


def _check_preconditioner(value: Array, form: str) -> None:
    """Raise ValueError unless B is positive and of a shape that the form takes."""
    if value.ndim < 2:
        check_positive("preconditioner", value)
        return
    if form == "diagonal" or value.ndim > 2 or value.shape[0] != value.shape[1]:
        raise ValueError(
            f"preconditioner has shape {value.shape}: the {form} form takes a number, an array [d]"
            + (" or a matrix [d, d]" if form == "full" else "")
        )
    if is_concrete(value) and not is_positive_definite(value):
        raise ValueError("preconditioner: a matrix must be symmetric and positive definite")
