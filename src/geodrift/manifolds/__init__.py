"""Spaces with a closed-form geodesic, in the coordinates of the space around them."""

from geodrift.manifolds._base import Manifold as Manifold
from geodrift.manifolds._euclidean import Euclidean as Euclidean
from geodrift.manifolds._product import Product as Product
from geodrift.manifolds._product import leaf_manifolds as leaf_manifolds
from geodrift.manifolds._simplex import Simplex as Simplex
from geodrift.manifolds._sphere import Sphere as Sphere
from geodrift.manifolds._spherical_simplex import SphericalSimplex as SphericalSimplex

__all__ = ["Euclidean", "Manifold", "Product", "Simplex", "Sphere", "SphericalSimplex", "leaf_manifolds"]
