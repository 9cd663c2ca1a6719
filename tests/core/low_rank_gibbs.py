"""Hoff's Gibbs sampler (2007, section 3) of a matrix of rank 2 with missing entries, many chains at once.

Values are left diag(scale) right' plus noise. Left and right have two orthonormal columns each, uniform on
their Stiefel manifolds; scales are normal. |left diag(scale) right'|^2 is |scale|^2, so that given the
whole matrix a column of a frame, given the other, is von Mises-Fisher on the circle or sphere left to it.
"""

import numpy as np


def gibbs(values, hidden, noise, sweeps, chains, rng):
    """Draws of the matrix [chain, sweep, 4, 3].

    Args:
        values: [4, 3]; what stands at hidden entries is not read.
        hidden: [4, 3], which entries are missing.
        noise: Standard deviation of the noise; the scales' is 1.
        sweeps: Draws of each chain.
        chains: Chains.
        rng: Random numbers.
    """
    left = np.linalg.qr(rng.standard_normal((chains, 4, 2)))[0]
    right = np.linalg.qr(rng.standard_normal((chains, 3, 2)))[0]
    scale = rng.standard_normal((chains, 2))
    whole = np.where(hidden, 0.0, np.broadcast_to(values, (chains, 4, 3)))
    drawn = np.empty((chains, sweeps, 4, 3))
    for sweep in range(sweeps):
        mean = np.einsum("cir,cr,cjr->cij", left, scale, right)
        whole[:, hidden] = (mean + noise * rng.standard_normal(mean.shape))[:, hidden]
        for k in range(2):
            pull = np.einsum("cij,cj->ci", whole, right[..., k]) * scale[:, k, None] / noise**2
            left[..., k] = within_complement(left[..., 1 - k], pull, rng)
            pull = np.einsum("cij,ci->cj", whole, left[..., k]) * scale[:, k, None] / noise**2
            right[..., k] = within_complement(right[..., 1 - k], pull, rng)
            along = np.einsum("ci,cij,cj->c", left[..., k], whole, right[..., k])
            shrunk = 1 / (1 + noise**2)
            scale[:, k] = along * shrunk + noise * np.sqrt(shrunk) * rng.standard_normal(chains)
        drawn[:, sweep] = np.einsum("cir,cr,cjr->cij", left, scale, right)
    return drawn


def within_complement(other, pull, rng):
    """A von Mises-Fisher unit vector orthogonal to ``other``, of density exp(pull'x)."""
    size = other.shape[-1]
    rest = rng.standard_normal((*other.shape, size - 1))
    basis = np.linalg.qr(np.concatenate([other[..., None], rest], axis=-1))[0][..., 1:]
    inside = np.einsum("cib,ci->cb", basis, pull)
    kappa = np.linalg.norm(inside, axis=-1)
    direction = inside / kappa[:, None]
    around = rng.standard_normal(inside.shape)
    around -= (around * direction).sum(axis=-1, keepdims=True) * direction
    around /= np.linalg.norm(around, axis=-1, keepdims=True)
    if size == 3:  # a circle
        height = np.cos(rng.vonmises(0.0, kappa))
    else:  # the sphere in R^3: the height has density exp(kappa h)
        height = 1 + np.log1p(-rng.random(len(kappa)) * -np.expm1(-2 * kappa)) / kappa
    height = np.clip(height, -1, 1)
    unit = height[:, None] * direction + np.sqrt(1 - height**2)[:, None] * around
    return np.einsum("cib,cb->ci", basis, unit)
