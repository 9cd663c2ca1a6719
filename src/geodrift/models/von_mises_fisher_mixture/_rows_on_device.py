"""Steps of a mixture of dense rows on a device, all rows of a step at once.

On the device lie the rows (float32, where half of its memory holds them; else those of each step go there)
and R, the clusters' sums, which move home when something here reads them: a split or merge that was taken, a
stored draw, a checkpoint, rows that are drawn one after the other. Here are assignments, counts,
concentrations and the number of clusters: what is drawn of them is a few numbers of each cluster.

A step of S rows with C columns sends 16 bytes a row and 20 a column, and gets 4 a row and 20 a column back;
with rows that do not fit 4 d more a row. R is 8 M d bytes each way when it moves.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int

from geodrift._jax_release import double_precision
from geodrift.distributions import host_log_normaliser
from geodrift.kernels._stream_kinds import Family
from geodrift.models.clusters._device import Layout, devices_of_rows, fits, on_all, room_for
from geodrift.models.clusters._weights_of_all import Prior, Weights, drawn_weights
from geodrift.models.von_mises_fisher_mixture._assignments_in_jax import Batch, Columns, Redrawn, redrawn
from geodrift.models.von_mises_fisher_mixture._collapsed_gibbs import CollapsedGibbs
from geodrift.models.von_mises_fisher_mixture._conditional import BACKGROUND
from geodrift.models.von_mises_fisher_mixture._dense_rows import DenseRows
from geodrift.models.von_mises_fisher_mixture._rows import AT_ONCE


class Choice(NamedTuple):
    """Clusters that rows may go to: those that have rows, then others, drawn from the prior.

    Attributes:
        labels: Their numbers, [K].
        kappa: [K].
        log_c: Log c(kappa), [K + 1]; the background's last.
        weights: Of the same.
    """

    labels: Int[np.ndarray, " K"]
    kappa: Float[np.ndarray, " K"]
    log_c: Float[np.ndarray, " K1"]
    weights: Weights


class RowsOnDevice:
    """Redraws rows on the devices of this process.

    Args:
        rows: All rows.
    """

    def __init__(self, rows: DenseRows) -> None:
        self.rows, self.mesh = rows, devices_of_rows()
        self.kept = kept_on(rows, self.mesh) if fits(4 * rows.number * rows.dim, self.mesh) else None

    def redraw(
        self,
        streams: Family,
        gibbs: CollapsedGibbs,
        numbers: Int[np.ndarray, " S"],
        assigned: Family,
        rng: np.random.Generator,
    ) -> int:
        """Redraw directions and weights, then the clusters of some rows; returns how many have moved.

        Args:
            streams: Of rows and directions.
            gibbs: The state.
            numbers: The rows, none of them twice.
            assigned: Streams of rows that are drawn one after the other; not used.
            rng: Generator of weights and new clusters.
        """
        del assigned
        choice = drawn_choice(gibbs, numbers, rng)
        before = _column_of(choice, len(gibbs.kappa))[gibbs.z[numbers]]
        with double_precision():
            x, places = self._rows_and_places(numbers)
            layout = Layout.of(len(numbers), self.mesh)
            each = (
                places.astype(np.int32),
                numbers.astype(np.int32),
                before,
                choice.weights.levels.astype(np.float32),
            )
            batch = Batch(*layout.put(each, (0, -1, 0, -np.inf)))
            given = streams.key, gibbs.sums_away(), gibbs.prior.r0, _columns(gibbs, choice)
            key, sums, r0, columns = on_all(given, self.mesh)
            found = redrawn(x, batch, key, sums, r0, Columns(*columns))
        after = layout.taken(found.columns)
        _take(gibbs, numbers, choice, after, found)
        return int((after != before).sum())

    def _rows_and_places(
        self, numbers: Int[np.ndarray, " S"]
    ) -> tuple[Float[Array, "N d"], Int[np.ndarray, " S"]]:
        """Rows on the devices, and where those of the step stand among them."""
        if self.kept is not None:
            return self.kept, numbers
        return on_all(self.rows.dense(numbers).astype(np.float32), self.mesh), np.arange(len(numbers))


def kept_on(rows: DenseRows, mesh: Mesh) -> Float[Array, "N d"]:
    """All rows on every device; once for all chains."""
    if rows.on_device is None:
        found = on_all(jnp.zeros((rows.number, rows.dim), jnp.float32), mesh)
        for start in range(0, rows.number, AT_ONCE):
            some = np.arange(start, min(start + AT_ONCE, rows.number))
            found = _written(found, on_all(rows.dense(some).astype(np.float32), mesh), start)
        rows.on_device = found
    return rows.on_device


@jax.jit(donate_argnums=0)
def _written(
    x: Float[Array, "N d"], part: Float[Array, "n d"], start: Int[Array, ""] | int
) -> Float[Array, "N d"]:
    return jax.lax.dynamic_update_slice(x, part, (start, 0))


def drawn_choice(gibbs: CollapsedGibbs, numbers: Int[np.ndarray, " S"], rng: np.random.Generator) -> Choice:
    """Weights given the assignments, and the clusters without rows that the rows of a step may need."""
    present, number, outside = gibbs.occupied, gibbs.number, gibbs.sums.background[0]
    place = np.full(len(gibbs.kappa) + 1, BACKGROUND)
    place[present] = np.arange(len(present))
    others, alpha = (int(number.value) - len(present), 0.0) if number.g else (0, number.value)
    prior = Prior(number.g, others, alpha, float(outside + gibbs.prior.a0))
    of_rows = place[gibbs.z[numbers]]
    weights = drawn_weights(gibbs.sums.counts[present], of_rows, gibbs.rows.number, prior, rng)
    others = len(weights.logs) - 1 - len(present)
    labels, fresh = np.append(present, gibbs.free(others)), gibbs.fresh(rng, others)
    of_others = host_log_normaliser(gibbs.rows.dim, np.append(fresh, 0.0))
    log_c = np.append(gibbs.sums.log_c_kappa[present], of_others)
    return Choice(labels, np.append(gibbs.kappa[present], fresh), log_c, weights)


def _column_of(choice: Choice, room: int) -> Int[np.ndarray, " M1"]:
    """The column of each cluster; of the background, the last entry, the last column."""
    found = np.zeros(room + 1, np.int32)
    found[choice.labels], found[BACKGROUND] = np.arange(len(choice.labels)), room_for(len(choice.labels)) - 1
    return found


def _columns(gibbs: CollapsedGibbs, choice: Choice) -> tuple[np.ndarray, ...]:
    """The arrays of `Columns`; columns between them and the background are empty."""
    size, width = len(choice.labels), room_for(len(choice.labels))
    labels, counts = np.full(width, len(gibbs.kappa), np.int32), np.zeros(width, np.int32)
    kappa, heights, caps = np.zeros(width, np.float32), np.full(width, -np.inf), np.full(width, -np.inf)
    labels[:size], kappa[:size] = choice.labels, choice.kappa
    counts[:size], counts[-1] = gibbs.sums.counts[choice.labels], gibbs.sums.background[0]
    places = [*range(size), width - 1]
    caps[places] = choice.weights.caps
    heights[places] = choice.weights.logs - choice.weights.caps + choice.log_c
    heights -= heights.max()
    return labels, counts, kappa, heights.astype(np.float32), caps.astype(np.float32)


def _take(
    gibbs: CollapsedGibbs,
    numbers: Int[np.ndarray, " S"],
    choice: Choice,
    after: Int[np.ndarray, " S"],
    found: Redrawn,
) -> None:
    """The state after a step; what the device keeps stays there."""
    size, sums = len(choice.labels), gibbs.sums
    of_columns = np.full(room_for(len(choice.labels)), BACKGROUND, np.int32)
    of_columns[:size] = choice.labels
    gibbs.z[numbers] = of_columns[after]
    counts = np.asarray(found.counts)
    born = (sums.counts[choice.labels] == 0) & (counts[:size] > 0)
    gibbs.set_kappa(choice.labels[born], choice.kappa[born])
    sums.log_c_kappa[choice.labels[born]] = choice.log_c[:-1][born]
    sums.counts[choice.labels], sums.background[0] = counts[:size], counts[-1]
    sums.squares[choice.labels] = np.asarray(found.squares)[:size]
    sums.along[choice.labels] = np.asarray(found.along)[:size]
    gibbs.away = found.sums
