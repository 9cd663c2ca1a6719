"""Spaces with a closed-form geodesic, in the coordinates of the ambient space."""

from geodrift.manifolds._ball import Ball as Ball
from geodrift.manifolds._base import Manifold as Manifold
from geodrift.manifolds._box import Box as Box
from geodrift.manifolds._embedded import Embedded as Embedded
from geodrift.manifolds._euclidean import Euclidean as Euclidean
from geodrift.manifolds._grassmann import Grassmann as Grassmann
from geodrift.manifolds._half_spaces import HalfSpaces as HalfSpaces
from geodrift.manifolds._hyperbolic import Hyperbolic as Hyperbolic
from geodrift.manifolds._ordered import Ordered as Ordered
from geodrift.manifolds._orthogonal import Orthogonal as Orthogonal
from geodrift.manifolds._orthogonal import SpecialOrthogonal as SpecialOrthogonal
from geodrift.manifolds._positive_orthant import PositiveOrthant as PositiveOrthant
from geodrift.manifolds._product import Product as Product
from geodrift.manifolds._product import leaf_manifolds as leaf_manifolds
from geodrift.manifolds._simplex import Simplex as Simplex
from geodrift.manifolds._sphere import Sphere as Sphere
from geodrift.manifolds._spherical_simplex import SphericalSimplex as SphericalSimplex
from geodrift.manifolds._stiefel import Stiefel as Stiefel
from geodrift.manifolds._torus import Torus as Torus

__all__ = [
    "Ball",
    "Box",
    "Embedded",
    "Euclidean",
    "Grassmann",
    "HalfSpaces",
    "Hyperbolic",
    "Manifold",
    "Ordered",
    "Orthogonal",
    "PositiveOrthant",
    "Product",
    "Simplex",
    "SpecialOrthogonal",
    "Sphere",
    "SphericalSimplex",
    "Stiefel",
    "Torus",
    "leaf_manifolds",
]
