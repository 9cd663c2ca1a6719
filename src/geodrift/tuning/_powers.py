"""Powers of covariances."""

import numpy as np
from jaxtyping import Float


def power(matrix: Float[np.ndarray, "d d"], exponent: float) -> Float[np.ndarray, "d d"]:
    """Of a symmetric matrix whose eigenvalues are positive."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return vectors * np.maximum(values, 1e-12 * values.max()) ** exponent @ vectors.T
