"""Models with a full posterior: each a posterior made of core parts, an engine, and a scikit-learn facade."""

from geodrift.models._plan import Plan as Plan
from geodrift.models._plan import Progress as Progress
from geodrift.models.latent_dirichlet_allocation import LatentDirichletAllocation as LatentDirichletAllocation
from geodrift.models.spherical_admixture import SphericalAdmixture as SphericalAdmixture
