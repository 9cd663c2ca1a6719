"""Block operators between the parts of a point, and the conversion of numbers and mappings to operators."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import PyTree

from geodrift._tree import add
from geodrift._types import RandomKey
from geodrift.recipe._operators import Dense, Noise, Operator, Scalar
from geodrift.recipe._parts import check_alike, parts, replaced


class Block(Operator):
    """A block matrix of operators between parts of z; blocks that are not given are 0.

    Args:
        blocks: ``{row: {column: operator}}`` by the names of the parts: the keys of a dict, the fields of a
            `NamedTuple`, the indices of a tuple. In place of an operator, a number stands for `Scalar`, 0
            for no block, and a mapping for a `Block` between the parts of a part.
    """

    blocks: dict[Any, dict[Any, Operator]]

    def __init__(self, blocks: Mapping[Any, Mapping[Any, Any]]) -> None:
        self.blocks = {
            row: {column: as_operator(cell) for column, cell in cells.items() if not _is_zero(cell)}
            for row, cells in blocks.items()
        }

    def cells(self) -> Iterator[tuple[Any, Any, Operator]]:
        """All blocks as ``(row, column, operator)``."""
        return ((row, column, m) for row, cells in self.blocks.items() for column, m in cells.items())

    def matvec(self, v: PyTree) -> PyTree:
        """``M v``, block by block."""
        given, out = parts(v), jax.tree.map(jnp.zeros_like, v)
        for row, column, cell in self.cells():
            out = replaced(out, row, add(parts(out)[row], cell.matvec(given[column])))
        return out

    def transpose(self) -> "Block":
        """``M^T``: each block transposed, with rows and columns exchanged."""
        transposed: dict = {}
        for row, column, cell in self.cells():
            transposed.setdefault(column, {})[row] = cell.transpose()
        return Block(transposed)

    def divergence(self, at: Callable[[PyTree], Any], x: PyTree) -> PyTree:
        """The divergence, summed over the blocks, each along the part that it acts on."""
        out = jax.tree.map(jnp.zeros_like, x)
        for row, column, cell in self.cells():

            def cell_at(child: PyTree, row: Any = row, column: Any = column) -> Operator:
                return at(replaced(x, column, child)).blocks[row][column]

            term = cell.divergence(cell_at, parts(x)[column])
            out = replaced(out, row, add(parts(out)[row], term))
        return out

    def check_fits(self, row: PyTree, column: PyTree, name: str) -> None:
        """Raise ValueError unless every block has its row and column in these parts, and fits them."""
        check_alike(row, column, f"{name} is a mapping")
        rows, columns = parts(row), parts(column)
        for i, j, cell in self.cells():
            for known, key in ((rows, i), (columns, j)):
                if key not in known:
                    raise ValueError(f"{name} has a block {key!r}: the parts there are {list(known)}")
            cell.check_fits(rows[i], columns[j], f"{name}[{i!r}][{j!r}]")

    def noise(self, key: RandomKey, like: PyTree) -> Noise:
        """Noise of the blocks on the diagonal, independent for each part.

        Raises:
            ValueError: There is a block off the diagonal.
        """
        given, out = parts(like), jax.tree.map(jnp.zeros_like, like)
        indefinite = jnp.zeros((), bool)
        for i, (row, column, cell) in enumerate(self.cells()):
            if row != column:
                raise ValueError(
                    f"D has a block between {row!r} and {column!r}: give LowRank or Dense over both parts"
                )
            drawn, of_cell = cell.noise(jax.random.fold_in(key, i), given[row])
            out, indefinite = replaced(out, row, drawn), indefinite | of_cell
        return out, indefinite


def as_operator(given: Any) -> Operator:
    """An operator as it is, a number as `Scalar`, a mapping as `Block`, 0 as a `Block` without blocks.

    Raises:
        ValueError: ``given`` is none of these.
    """
    if isinstance(given, Operator):
        return given
    if isinstance(given, Mapping):
        return Block(given)
    if _is_zero(given):
        return Block({})
    if jnp.ndim(given) == 0:
        return Scalar(given)
    raise ValueError(
        f"an array of shape {jnp.shape(given)} is no operator: say Diagonal(entries) or Dense(matrix)"
    )


def dense(operator: Operator, like: PyTree) -> Dense:
    """An operator from a part to itself as a `Dense` matrix, by n products for n entries.

    Args:
        operator: The operator.
        like: A pytree with the structure and the shapes of the part.
    """
    flat, unflatten = ravel_pytree(like)
    columns = jax.vmap(lambda e: ravel_pytree(operator.matvec(unflatten(e)))[0])(
        jnp.eye(flat.size, dtype=flat.dtype)
    )
    return Dense(columns.T)


def _is_zero(given: Any) -> bool:
    return isinstance(given, int | float) and given == 0
