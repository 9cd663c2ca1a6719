"""Replica exchange (parallel tempering) with exact or noisy energies; Deng et al. (2020)."""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from geodrift._tree import as_float_arrays, shared_by_chains
from geodrift._types import Batch, Count, Position, RandomKey, Scalar, Shared, Tangent
from geodrift._whole import as_whole
from geodrift.estimators import Full, Rows
from geodrift.estimators._tempered import tempered
from geodrift.manifolds import Manifold
from geodrift.samplers._base import Sampler, StepInfo
from geodrift.samplers._in_coordinates import moving_state
from geodrift.samplers._penalty import EnergyNoise, estimated_noise, noise_warnings, penalty, too_noisy
from geodrift.samplers._pending_kicks import pending_kicks, pending_share, with_changed_kicks
from geodrift.samplers._replica_checks import check_replicas


class ReplicaExchangeState(NamedTuple):
    """State of `ReplicaExchange`."""

    position: Position  # of the replica at temperature 1
    replicas: Any  # states of the inner sampler, leading axis [replica], except for what they share
    noisy: Count  # pairs so far whose energies were too noisy for the estimate of their variance
    count: Shared[Count]  # steps taken


class ReplicaExchange(Sampler):
    r"""Replica exchange: copies of a sampler at several temperatures, which exchange their states.

    Replica i has the target :math:`p^{1 / T_i}`; the draws are those of the first, T = 1. Neighbours i, j
    (the pairs (0, 1), (2, 3), ... and (1, 2), (3, 4), ... in turn) exchange states with the probability

    .. math:: \min(1, \exp(X - u)), \quad X = (1/T_i - 1/T_j) (E_i - E_j), \quad E = -\log p

    where :math:`u = s^2 / 2`, :math:`s^2 = (1/T_i - 1/T_j)^2 \sigma^2` and :math:`\sigma^2` is the variance
    of the noise of :math:`E_i - E_j`; 0 for exact energies. For normal noise of known variance this satisfies
    detailed balance exactly (Ceperley & Dewing, 1999); in Deng et al. (2020) :math:`\sigma^2` is :math:`2
    \mathrm{Var}(E)`. To an estimated variance belong their two further terms, :math:`s^4 / (4 (B + 1)) + s^6
    / (3 (B + 1) (B + 3))`. One minibatch gives the energies; each replica moves on others of its own.
    Where steps end half a kick after the point at which velocities have their law (``"BAOAB"``, ``"OBABO"``,
    ``"chen"``), an exchange gives them that half from the new temperature, at the cost of a gradient.

    Args:
        sampler: The Markov kernel, with its step size and the unit of that; the same for every replica.
        temperatures: 1 first, then increasing; without a unit.
        swap_every: Steps between two attempts to exchange.
        difference_variance: :math:`\sigma^2`: a number, or ``"sample"``, which estimates it from the batch as
            N^2 / B times the sample variance of each datum's difference of energies. Required where energies
            are those of minibatches.
        all_data: Whether batches are the whole data set, so that energies are exact; `on_all_data` sets it.

    Raises:
        ValueError: An argument is outside its range, or the estimator has no energies.

    Invariant law: that of the kernel at each temperature. The exchange adds no bias, if the noise of the
    energies is normal and its variance known. With an estimate, and normal noise, the log ratio of the
    probabilities of an exchange and its reverse is X but for .2% for :math:`s^2 = .1 B` and 1.8% for .25 B;
    `geodrift.sample` warns where more than 5% of the pairs are beyond that. Where the data's terms are
    skewed X is moved by what that does to leading order, about :math:`.27 (s^2)^{3/2} / \sqrt{B}` times their
    skewness (`estimated_noise`), of which up to a quarter is left.

    The `StepInfo` is the first replica's, with the mean probability of the attempted exchanges as
    ``acceptance``, NaN where there was no attempt, and the largest result code of all replicas.
    """

    accepts_steps: ClassVar[bool] = False

    sampler: Sampler
    temperatures: Float[Array, " replica"] = eqx.field(converter=lambda t: as_float_arrays(jnp.asarray(t)))
    swap_every: int = eqx.field(static=True, default=1, converter=as_whole)
    difference_variance: Float[Array, ""] | str | None = eqx.field(
        default=None, converter=lambda v: v if v is None or isinstance(v, str) else as_float_arrays(v)
    )
    all_data: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        check_replicas(self)

    @property
    def estimator(self) -> Any:
        """The inner sampler's estimator, at temperature 1."""
        inner: Any = self.sampler
        return inner.estimator

    @property
    def manifold(self) -> Manifold:
        """The inner sampler's manifold."""
        return self.sampler.manifold

    @property
    def batch_axes(self) -> tuple[int, ...]:
        """One axis: a minibatch for each inner step of each replica, and one for the energies."""
        return (len(self.temperatures) * math.prod(self.sampler.batch_axes) + 1,)

    def collects(self, count: Int[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        """Whether the inner sampler's draw after step number ``count`` may be stored."""
        return self.sampler.collects(count)

    def on_all_data(self) -> "ReplicaExchange":
        """The same sampler for batches that are the whole data set, whose energies are exact."""
        exact = self.sampler.on_all_data()
        return dataclasses.replace(self, sampler=exact, difference_variance=None, all_data=True)

    def init(self, key: RandomKey, position: Position) -> ReplicaExchangeState:
        """The state with all replicas at the position."""
        keys = jax.random.split(key, len(self.temperatures))
        replicas = jax.vmap(lambda k, t: self._at(t).init(k, position))(keys, self.temperatures)
        shared = shared_by_chains(replicas)
        replicas = jax.tree.map(lambda x, is_shared: x[0] if is_shared else x, replicas, shared)
        first = jax.tree.map(lambda x: x[0], replicas.position)
        none = jnp.zeros((), jnp.int32)
        return ReplicaExchangeState(first, replicas, none, none)

    def step(
        self, key: RandomKey, state: ReplicaExchangeState, batch: Batch = None
    ) -> tuple[ReplicaExchangeState, StepInfo]:
        """One step of every replica, then the exchanges if they are due at this count."""
        key_move, key_swap = jax.random.split(key)
        keys, t = jax.random.split(key_move, len(self.temperatures)), self.temperatures
        rows, energy_rows, rows_axis = self._rows(batch)
        axes = _axes(state.replicas)
        move = jax.vmap(lambda k, t, s, b: self._at(t).step(k, s, b), (0, 0, axes, rows_axis), (axes, 0))
        replicas, infos = move(keys, t, state.replicas, rows)
        due, attempt = (state.count + 1) % self.swap_every == 0, state.count // self.swap_every

        def exchanged() -> tuple[Any, Scalar, Count]:
            kicks = self._pending_kicks(key_swap, state.replicas, replicas, rows, rows_axis)
            return self._exchange(key_swap, replicas, energy_rows, attempt, kicks)

        replicas, acceptance, noisy = jax.lax.cond(
            due,
            exchanged,
            lambda: (replicas, jnp.full((), jnp.nan, t.dtype), jnp.zeros((), jnp.int32)),
        )
        info = jax.tree.map(lambda x: x[0], infos)
        info = info._replace(result=jnp.max(infos.result), acceptance=acceptance)
        first = jax.tree.map(lambda x: x[0], replicas.position)
        return ReplicaExchangeState(first, replicas, state.noisy + noisy, state.count + 1), info

    def run_warnings(self, state: ReplicaExchangeState) -> list[str]:
        """Whether the energies were too noisy for the estimate of their variance."""
        replicas, attempts = len(self.temperatures), int(state.count) // self.swap_every
        pairs = (attempts + 1) // 2 * (replicas // 2) + attempts // 2 * ((replicas - 1) // 2)
        return noise_warnings(float(np.mean(state.noisy)) / max(pairs, 1))

    def _exchange(
        self, key: RandomKey, replicas: Any, rows: Batch, attempt: Count, kicks: Tangent | None = None
    ) -> tuple[Any, Scalar, Count]:
        """The replicas after attempt number ``attempt``, the mean probability, and the pairs too noisy.

        ``kicks`` are what velocities have of the step that comes, at temperature 1; None where they have
        nothing.
        """
        index = jnp.arange(len(self.temperatures))
        partner = jnp.where((index + attempt) % 2 == 0, index + 1, index - 1)
        alone = (partner < 0) | (partner >= index.size)
        partner = jnp.where(alone, index, partner)
        beta, at = 1 / self.temperatures, moving_state(replicas)
        gap = beta - beta[partner]
        difference, noise = self._differences(at.position, rows, partner)
        variance, terms = gap**2 * noise.variance, noise.terms
        log_ratio = gap * difference - gap**3 * noise.skewed - penalty(variance, terms)
        probability = jnp.exp(jnp.minimum(log_ratio, 0))
        noisy = jnp.sum(too_noisy(variance, terms) & (index < partner), dtype=jnp.int32)
        # Both replicas of a pair compare with the same uniform number.
        uniform = jax.random.uniform(key, index.shape, beta.dtype)[jnp.minimum(index, partner)]
        # NaN compares false, hence rejects.
        source = jnp.where(~alone & (uniform < probability), partner, index)
        axes, shared = _axes(replicas), shared_by_chains(replicas)
        moved = jax.tree.map(lambda x, is_shared: x if is_shared else x[source], replicas, shared)
        if hasattr(at, "thermostat"):
            # A thermostat's law depends on the temperature, through the gradient noise, not on the position.
            moved = eqx.tree_at(lambda s: moving_state(s).thermostat, moved, at.thermostat)
        if kicks is not None:
            moved = with_changed_kicks(moved, jax.tree.map(lambda x: x[source], kicks), beta - beta[source])
        retarget = jax.vmap(lambda t, s: self._at(t).retarget(s), (0, axes), axes)
        mean = jnp.nanmean(jnp.where(alone, jnp.nan, probability))
        return retarget(self.temperatures, moved), mean, noisy

    def _pending_kicks(
        self, key: RandomKey, before: Any, after: Any, rows: Batch, rows_axis: int | None
    ) -> Tangent | None:
        """What the velocities of all replicas have of the step that comes, at temperature 1."""
        if not pending_share(self.sampler):
            return None
        keys, axes = jax.random.split(key, len(self.temperatures)), _axes(after)
        kicks = jax.vmap(
            lambda k, b, a, r: pending_kicks(k, self.sampler, b, a, r), (0, axes, axes, rows_axis)
        )
        return kicks(keys, before, after, rows)

    def _differences(
        self, positions: Position, rows: Batch, partner: Int[Array, " replica"]
    ) -> tuple[Float[Array, " replica"], EnergyNoise]:
        """``E_i - E_partner`` of each replica i, and its noise."""
        estimator, given = self.estimator, self.difference_variance
        known = EnergyNoise(0.0 if given is None or isinstance(given, str) else given, 0.0, None)
        if isinstance(estimator, Full):
            energy = -jax.vmap(estimator.value)(positions)
            return energy - energy[partner], known
        data = rows.data if isinstance(rows, Rows) else rows
        prior = jax.vmap(estimator.log_prior_at)(positions)
        each = jax.vmap(lambda x: estimator.log_likelihoods(x, data))(positions)
        each = each - each[partner]
        size, batch_size = estimator.data_size, each.shape[1]
        difference = prior[partner] - prior - size * jnp.mean(each, axis=1)
        if not isinstance(given, str):
            return difference, known
        if batch_size < 2:
            raise ValueError(
                "difference_variance = 'sample': a batch of 1 has no sample variance; give batches of 2 or"
                " more data, or the variance"
            )
        return difference, estimated_noise(-each, size, estimator.replacement)

    def _at(self, temperature: Scalar) -> Sampler:
        """The inner sampler at a temperature."""
        return eqx.tree_at(lambda s: s.estimator, self.sampler, tempered(self.estimator, 1 / temperature))

    def _rows(self, batch: Batch) -> tuple[Batch, Batch, int | None]:
        """The replicas' batches, the batch of the energies, and the axis of the replicas in the former."""
        if self.all_data or not jax.tree.leaves(batch):
            return batch, batch, None
        shape = (len(self.temperatures), *self.sampler.batch_axes)
        rows = jax.tree.map(lambda a: a[:-1].reshape(*shape, *a.shape[1:]), batch)
        return rows, jax.tree.map(lambda a: a[-1], batch), 0


def _axes(replicas: Any) -> Any:
    """The axis of the replicas for `jax.vmap`: 0 for every leaf, None for those that they share."""
    return jax.tree.map(lambda is_shared: None if is_shared else 0, shared_by_chains(replicas))
