"""A NumPyro model run by its handlers: its plate over the data, its sites, and their densities."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from geodrift._types import Position, RandomKey
from geodrift.manifolds import Euclidean, Manifold, Sphere, SphericalSimplex
from geodrift.numpyro._data_sites import SOME_ROWS, frame_of, log_prob_of, other_rows
from geodrift.numpyro._handlers import batch_handler, improper_handler, innermost, kind_of
from geodrift.numpyro._same_support import same_support

_SEED = 0  # for what a model draws apart from its latent sites, whose values are given


class _Site(NamedTuple):
    """How one latent site is moved."""

    manifold: Manifold
    shape: tuple[int, ...]  # of the site's value
    transform: Any  # NumPyro's bijection from R^n; None on the sphere and the simplex


class Program:
    """The model, its plate and its sites."""

    def __init__(self, model: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> None:
        self.numpyro = _numpyro()
        self.model, self.args, self.kwargs = model, args, kwargs
        # Shapes and supports only: a draw of all the data could be large.
        trace = self._trace({}, None, jax.random.key(_SEED))
        self.plate, self.size = _data_plate(trace)
        # A Delta's value is what it says; elsewhere its density is 0, and a chain would wander off.
        delta = self.numpyro.distributions.Delta
        latent = {
            name: site
            for name, site in trace.items()
            if site["type"] == "sample"
            and not site["is_observed"]
            and not isinstance(innermost(site["fn"]), delta)
        }
        self.sites = {name: self._site(name, site) for name, site in latent.items()}
        if not self.sites:
            raise ValueError("model: has no latent variable to sample")
        # What speaks against fewer rows than all; such a model is one of all its data.
        self.needs_all = self._other_rows(trace)
        self.least = jnp.arange(self.size if self.needs_all else 1)
        other = self._trace({}, self.least, jax.random.key(_SEED + 1))
        for name, site in latent.items():
            if not same_support(site["fn"].support, other[name]["fn"].support):
                raise ValueError(
                    f"site {name!r}: its support depends on another site's value; write it as a function of a"
                    " site with a fixed support, with numpyro.deterministic"
                )
        self._check_outside({name: other[name]["value"] for name in self.sites})

    def log_likelihood(self, position: Position, index: Int[Array, " batch"]) -> Float[Array, " batch"]:
        """The log density of each datum's sites; the factor N/B of the plate is left out."""
        if self.needs_all is not None and index.shape[0] != self.size:
            raise ValueError(self.needs_all)
        # What such a model does not look up is in the data's order, whatever the order of the indices.
        rows = index if self.needs_all is None else self.least
        trace = self._trace(self.constrain(position), rows, None)
        total = jnp.zeros(rows.shape[0])
        for site in trace.values():
            frame = frame_of(site, self.plate)
            if frame is None:
                continue
            weight = 1.0 if site["scale"] is None else site["scale"] * rows.shape[0] / self.size
            log_prob = weight * log_prob_of(site)
            axis = log_prob.ndim + frame.dim
            others = tuple(i for i in range(log_prob.ndim) if i != axis)
            total = total + jnp.sum(log_prob, axis=others)
        return total if self.needs_all is None else total[index]

    def log_prior(self, position: Position) -> Float[Array, ""]:
        """The log density of all sites outside the plate, on the manifold."""
        outside = self._outside(self.constrain(position), self.least)
        total = sum(outside.values(), start=jnp.zeros(()))
        for name, site in self.sites.items():
            x = position[name]
            if isinstance(site.manifold, SphericalSimplex):
                total = total + site.manifold.log_volume(x)
            elif site.transform is not None:
                flat = _unconstrained(site, x)
                total = total + jnp.sum(site.transform.log_abs_det_jacobian(flat, site.transform(flat)))
        return total

    def initial(self, key: RandomKey) -> Position:
        """The position of a draw of the prior."""
        trace = self._trace({}, self.least, key)
        return {name: _to_manifold(site, trace[name]["value"]) for name, site in self.sites.items()}

    def constrain(self, position: Position) -> dict[str, Array]:
        """The sites' values, from positions with any axes in front."""
        return {name: _from_manifold(site, _leaf(name, site, position)) for name, site in self.sites.items()}

    def _outside(self, values: dict[str, Array], index: Int[Array, " batch"]) -> dict[str, Array]:
        """The log density of each site outside the plate, of values of the sites, with some rows."""
        trace = self._trace(values, index, None)
        return {
            name: jnp.sum((1.0 if site["scale"] is None else site["scale"]) * log_prob_of(site))
            for name, site in trace.items()
            if site["type"] == "sample" and frame_of(site, self.plate) is None
        }

    def _check_outside(self, values: dict[str, Array]) -> None:
        """Raise ValueError where the density of a site outside the plate is another with other rows of it.

        The prior has the least rows that the model takes: what such a site has of the data would be theirs.
        """
        one = self._outside(values, self.least)
        # Of a model of all its data there are no other rows.
        others = self.least if self.needs_all else jnp.array([self.size - 1, self.size // 2])
        for name, two in self._outside(values, others).items():
            if not jnp.array_equal(one[name], two, equal_nan=True):
                raise ValueError(
                    f"site {name!r}: is outside the plate {self.plate!r}, and its log density changes with"
                    " the plate's rows; move it into the plate, with a value for each row, or compute what it"
                    " has of the data once of all data"
                )

    def _other_rows(self, trace: dict[str, Any]) -> str | None:
        """See `other_rows`.

        Raises:
            ValueError: There is such a site, in a model that asks for minibatches.
        """
        names = [name for name, site in trace.items() if site["type"] == "sample"]
        rows = SOME_ROWS if self.size != SOME_ROWS else SOME_ROWS + 1
        tracer = self._tracer({}, jnp.zeros(rows, int), jax.random.key(_SEED))
        found = other_rows(tracer, self.args, self.kwargs, names, self.plate, rows)
        if found is not None and trace[self.plate]["args"][1] not in (None, self.size):
            raise ValueError(found)
        return found

    def _trace(self, values: dict[str, Array], index: Array | None, key: RandomKey | None) -> dict[str, Any]:
        """The model's sites, with these values and this batch of the plate."""
        return self._tracer(values, index, key).get_trace(*self.args, **self.kwargs)

    def _tracer(self, values: dict[str, Array], index: Array | None, key: RandomKey | None) -> Any:
        """The handler that records them."""
        handlers = self.numpyro.handlers
        model = handlers.substitute(self.model, data=values)
        if index is not None:
            model = batch_handler(self.numpyro)(model, self.plate, index)
        model = handlers.seed(model, jax.random.key(_SEED) if key is None else key)
        model = improper_handler(self.numpyro)(model)
        return handlers.trace(model)

    def _site(self, name: str, site: dict[str, Any]) -> _Site:
        constraints = self.numpyro.distributions.constraints
        support, shape = site["fn"].support, jnp.shape(site["value"])
        if frame_of(site, self.plate) is not None:
            raise ValueError(
                f"site {name!r}: a latent variable inside the plate {self.plate!r}, one for each datum;"
                " integrate it out, or move it outside the plate"
            )
        if support.is_discrete:
            raise ValueError(
                f"site {name!r}: a discrete latent variable has no gradient; sum over it, for example with"
                " numpyro.distributions.MixtureSameFamily"
            )
        kind = kind_of(support)
        if kind in (constraints.sphere, constraints.simplex) and shape[-1] < 2:
            raise ValueError(
                f"site {name!r}: has vectors of {shape[-1]} number, and points of spheres and simplices need"
                " 2 or more; leave the site out: of one number the value is known"
            )
        if kind == constraints.sphere:
            return _Site(Sphere(shape[-1]), shape, None)
        if kind == constraints.simplex:
            return _Site(SphericalSimplex(shape[-1]), shape, None)
        return _Site(Euclidean(), shape, self.numpyro.distributions.biject_to(support))


def _numpyro() -> Any:
    try:
        import numpyro
        import numpyro.distributions
        import numpyro.handlers
    except ImportError as error:
        raise ImportError("from_numpyro needs NumPyro: pip install 'geodrift[numpyro]'") from error
    return numpyro


def _data_plate(trace: dict[str, Any]) -> tuple[str, int]:
    """Name and size of the plate over the data: the subsampled one, else the one with observed sites."""
    sizes = {name: site["args"] for name, site in trace.items() if site["type"] == "plate"}
    subsampled = [name for name, (size, part) in sizes.items() if part is not None and part != size]
    observed = {
        frame.name
        for site in trace.values()
        if site["type"] == "sample" and site["is_observed"]
        for frame in site["cond_indep_stack"]
    }
    found = subsampled or sorted(observed)
    if not found:
        raise ValueError(
            "model: has no plate with observed data; put the observed site into"
            " numpyro.plate('data', N, subsample_size=B) and look rows up by the plate's indices"
        )
    if len(found) > 1:
        raise ValueError(
            f"model: {', '.join(found)} are several plates over data; minibatches are of one: give"
            " subsample_size to that one only"
        )
    return found[0], sizes[found[0]][0]


def _unconstrained_shape(site: _Site) -> tuple[int, ...]:
    """Shape of the value in R^n from which the bijection makes the site's value."""
    return site.shape if site.transform is None else tuple(site.transform.inverse_shape(site.shape))


def _leaf(name: str, site: _Site, position: Position) -> Array:
    """The site's leaf of a position, with any axes in front of its own."""
    leaf, wanted = jnp.asarray(position[name]), _unconstrained_shape(site) or (1,)
    if leaf.shape[-len(wanted) :] != wanted:
        raise ValueError(
            f"position[{name!r}] has shape {leaf.shape}: must be {wanted}, behind axes of chains and draws if"
            " there are any; a site that is one number has (1,), as in target.initial(key)"
        )
    return leaf


def _unconstrained(site: _Site, x: Array) -> Array:
    """A leaf in the shape that the bijection takes: the leaf of a scalar site has the shape ``[..., 1]``."""
    shape = _unconstrained_shape(site)
    return x.reshape(*x.shape[: x.ndim - max(len(shape), 1)], *shape)


def _from_manifold(site: _Site, x: Array) -> Array:
    if isinstance(site.manifold, SphericalSimplex):
        return jnp.asarray(site.manifold.to_simplex(x))
    return x if site.transform is None else site.transform(_unconstrained(site, x))


def _to_manifold(site: _Site, value: Array) -> PyTree:
    if isinstance(site.manifold, SphericalSimplex):
        return site.manifold.from_simplex(value)
    if site.transform is None:
        return value
    unconstrained = site.transform.inv(value)
    return unconstrained.reshape(1) if unconstrained.ndim == 0 else unconstrained
