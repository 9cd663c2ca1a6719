"""The Laplacian of linear functions, for identities of Stein on manifolds without a boundary."""

from geodrift.manifolds._base import Manifold
from geodrift.manifolds._euclidean import Euclidean
from geodrift.manifolds._orthogonal import Orthogonal
from geodrift.manifolds._sphere import Sphere
from geodrift.manifolds._stiefel import Stiefel


def linear_eigenvalue(manifold: Manifold) -> float | None:
    r"""The c for which :math:`\Delta (a \cdot x) = -c\, a \cdot x`, whatever a.

    It is 0 on R^n, n - 1 on the sphere of R^n and n - (p + 1)/2 on orthonormal p-frames of R^n.

    Returns:
        None for other manifolds: a wall adds a term to the identities, and on the rest a linear function is
        not an eigenfunction.
    """
    if isinstance(manifold, Euclidean):
        return 0.0
    if isinstance(manifold, Sphere | Stiefel | Orthogonal):
        n, columns = (*manifold.point_shape, 1)[:2]
        return n - (columns + 1) / 2
    return None
