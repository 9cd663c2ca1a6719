r"""A NumPyro model with a plate over the data as a target for minibatch samplers.

The model's plate becomes the minibatch: its sites give one log likelihood for each datum, all other sites the
log prior. A site on the sphere stays on `Sphere`; one on the simplex goes to `SphericalSimplex`; any other
support goes to :math:`R^n` by NumPyro's own bijection, with its Jacobian in the prior.

NumPyro is an optional dependency: ``pip install 'geodrift[numpyro]'``.
"""

from geodrift.numpyro._target import Target as Target
from geodrift.numpyro._target import from_numpyro as from_numpyro
