"""Kept mixtures of all documents and their two sums on devices other than CPUs, in JAX.

`_kept_mixtures` has the idea. Mixtures, sums, topics and velocities stay on the device, as float32, and the
documents' rows where they fit (`_device_rows`). To it travel, for a step, the minibatch's numbers; back come
three numbers. Once a pass over the corpus the sums are made anew, so that rounding errors do not grow.

Where there are several devices, each draws the mixtures of a part of the minibatch, and all of them make the
sums of all: to tell each other the mixtures takes 4 S K bytes, to add up parts of the sums would take 4 V K,
and the order of the additions would depend on the number of devices.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, Int, Key, UInt32

from geodrift.kernels import _device
from geodrift.models.spherical_admixture.documents._device_rows import DeviceRows
from geodrift.models.spherical_admixture.documents._document_states import DocumentStates
from geodrift.models.spherical_admixture.documents._documents import BLOCK
from geodrift.models.spherical_admixture.documents._mixture_sampler import MixtureSampler
from geodrift.models.spherical_admixture.documents._mixtures_in_jax import (
    Target,
    Walk,
    document_keys,
    document_words,
    product,
    walk,
)
from geodrift.models.spherical_admixture.documents._padded_rows import (
    PaddedRows,
    topic_projections,
    with_weighted_documents,
)

AXIS = "documents"
MOST_TOPICS = 128  # whose Gram matrix a program of a GPU holds


def local_mesh() -> Mesh | None:
    """All devices of this process along one axis; None where there is one."""
    devices = jax.local_devices()
    return Mesh(np.array(devices), (AXIS,)) if len(devices) > 1 else None


def on_device(tree: Any, mesh: Mesh | None) -> Any:
    """The arrays as float32 (whole numbers as they are) on every device."""

    def placed(x: Any) -> jax.Array:
        kind = jnp.float32 if jnp.issubdtype(jnp.result_type(x), jnp.floating) else jnp.result_type(x)
        # A copy: an array of the host would be read by the device's programs while it is changed.
        whole = jnp.array(x, kind)
        return whole if mesh is None else jax.device_put(whole, NamedSharding(mesh, PartitionSpec()))

    return jax.tree.map(placed, tree)


def update_minibatch(
    states: DocumentStates,
    sampler: MixtureSampler,
    documents: Int[np.ndarray, " S"],
    rows: PaddedRows,
    topics: Float[Array, "K V"],
    step: int,
    adaptation: float,
    mesh: Mesh | None,
) -> tuple[DocumentStates, Float[Array, ""]]:
    """Draw a minibatch's mixtures and update the sums over all documents.

    The arguments are those of `_kept_mixtures.update_minibatch`, and the devices. The buffers of ``states``
    are taken over: what is given must not be read again.

    Returns:
        The states, and the mean acceptance rate.
    """
    return _renewed(
        states,
        sampler.use.family(sampler.seed, sampler.chain, step).key,
        document_words(documents),
        rows,
        topics,
        np.float32(sampler.concentration),
        sampler.prior.astype(np.float32),
        np.float32(adaptation),
        (sampler.num_leapfrog, sampler.burn_in, sampler.num_draws),
        mesh,
    )


def recomputed_sums(states: DocumentStates, rows: DeviceRows) -> DocumentStates:
    """The states with the two sums made from all documents; one pass over the corpus."""
    sums = jnp.zeros_like(states.weighted_documents), jnp.zeros_like(states.curvature)
    number = rows.source.num_documents
    size = min(BLOCK, number)
    for begin in range(0, number, size):
        documents = np.arange(begin, min(begin + size, number))
        sums = _with_block(sums, states, np.int32(begin), rows.padded(documents, size))
    return states._replace(weighted_documents=sums[0], curvature=sums[1])


@partial(jax.jit, donate_argnums=0, static_argnames=("lengths", "mesh"))
def _renewed(
    states: DocumentStates,
    key: Key[Array, ""],
    documents: UInt32[Array, "S 2"],
    rows: PaddedRows,
    topics: Float[Array, "K V"],
    concentration: Float[Array, ""],
    prior: Float[Array, " K"],
    adaptation: Float[Array, ""],
    lengths: tuple[int, int, int],
    mesh: Mesh | None,
) -> tuple[DocumentStates, Float[Array, ""]]:
    at = documents[:, 0].astype(jnp.int32)
    old, old_norms, old_weights = states.mixtures[at], states.inverse_norms[at], states.curvature_weights[at]
    projections, gram = topic_projections(rows, topics), product(topics, topics.T)
    target = Target(projections, gram, concentration, prior)
    keys = document_keys(key, documents)
    end = _walk_on(mesh, lengths)(keys, old, states.step_sizes[at], target, adaptation)
    norms, weights = _document_weights(end.mixtures, projections, gram)
    curvature = states.curvature + product((end.mixtures * weights[:, None]).T, end.mixtures)
    curvature -= product((old * old_weights[:, None]).T, old)
    change = end.mixtures * norms[:, None] - old * old_norms[:, None]
    states = states._replace(
        mixtures=states.mixtures.at[at].set(end.mixtures),
        step_sizes=states.step_sizes.at[at].set(end.step_sizes),
        inverse_norms=states.inverse_norms.at[at].set(norms),
        curvature_weights=states.curvature_weights.at[at].set(weights),
        weighted_documents=with_weighted_documents(states.weighted_documents, rows, change),
        curvature=curvature,
    )
    return states, end.acceptance.mean()


def _document_weights(
    mixtures: Float[Array, "S K"], projections: Float[Array, "S K"], gram: Float[Array, "K K"]
) -> tuple[Float[Array, " S"], Float[Array, " S"]]:
    """As `_statistics.document_weights`."""
    norms = jax.lax.rsqrt((product(mixtures, gram) * mixtures).sum(axis=1))
    return norms, (projections * mixtures).sum(axis=1) * norms**3


def _walk_on(mesh: Mesh | None, lengths: tuple[int, int, int]) -> Callable[..., Walk]:
    """The documents' transitions, shared out to the devices; see `walk`."""

    def ends(keys: Array, mixtures: Array, step_sizes: Array, target: Target, adaptation: Array) -> Walk:
        if _device.in_triton() and mixtures.shape[1] <= MOST_TOPICS:
            # Imported here: it takes Pallas a second.
            from geodrift.models.spherical_admixture.documents._mixtures_in_pallas import walk_of_gpu

            num_leapfrog, burn_in, num_draws = lengths
            number = burn_in + num_draws
            return walk_of_gpu(keys, mixtures, step_sizes, target, adaptation, num_leapfrog, number)
        return walk(keys, mixtures, step_sizes, target, adaptation, *lengths)[0]

    if mesh is None:
        return ends
    split, whole = PartitionSpec(AXIS), PartitionSpec()
    of_devices = jax.shard_map(
        ends,
        mesh=mesh,
        in_specs=(split, split, split, Target(split, whole, whole, whole), whole),
        out_specs=split,
        check_vma=False,
    )

    def shared_out(
        keys: Array, mixtures: Array, step_sizes: Array, target: Target, adaptation: Array
    ) -> Walk:
        number = len(mixtures)
        places = jnp.minimum(jnp.arange(number + -number % mesh.size), number - 1)
        target = target._replace(projections=target.projections[places])
        end = of_devices(keys[places], mixtures[places], step_sizes[places], target, adaptation)
        return jax.lax.with_sharding_constraint(
            jax.tree.map(lambda x: x[:number], end), NamedSharding(mesh, whole)
        )

    return shared_out


@partial(jax.jit, donate_argnums=0)
def _with_block(
    sums: tuple[Float[Array, "V K"], Float[Array, "K K"]],
    states: DocumentStates,
    begin: Int[Array, ""],
    rows: PaddedRows,
) -> tuple[Float[Array, "V K"], Float[Array, "K K"]]:
    """The sums with the documents from ``begin`` on; rows beyond the last document are empty and add 0."""
    at = begin + jnp.arange(len(rows.words))
    mixtures, norms, weights = (
        x.at[at].get(mode="fill", fill_value=0.0)
        for x in (states.mixtures, states.inverse_norms, states.curvature_weights)
    )
    weighted_documents = with_weighted_documents(sums[0], rows, mixtures * norms[:, None])
    return weighted_documents, sums[1] + product((mixtures * weights[:, None]).T, mixtures)
