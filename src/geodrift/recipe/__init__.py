"""The complete recipe of Ma, Chen and Fox (2015): a sampler from H, D and Q, and a check that it is right."""

from geodrift.recipe._augmentation import Augmentation as Augmentation
from geodrift.recipe._augmentation import Momentum as Momentum
from geodrift.recipe._augmentation import Thermostat as Thermostat
from geodrift.recipe._blocks import Block as Block
from geodrift.recipe._blocks import dense as dense
from geodrift.recipe._check import Report as Report
from geodrift.recipe._check import check as check
from geodrift.recipe._dynamics import drift as drift
from geodrift.recipe._dynamics import gamma as gamma
from geodrift.recipe._low_rank import LowRank as LowRank
from geodrift.recipe._low_rank import Outer as Outer
from geodrift.recipe._low_rank import SkewLowRank as SkewLowRank
from geodrift.recipe._operators import Dense as Dense
from geodrift.recipe._operators import Diagonal as Diagonal
from geodrift.recipe._operators import Operator as Operator
from geodrift.recipe._operators import Scalar as Scalar
from geodrift.recipe._recipe import Recipe as Recipe
from geodrift.recipe._recipe import RecipeState as RecipeState
from geodrift.recipe._rows import hmc as hmc
from geodrift.recipe._rows import sghmc as sghmc
from geodrift.recipe._rows import sgld as sgld
from geodrift.recipe._rows import sgnht as sgnht
from geodrift.recipe._rows import sgrhmc as sgrhmc
from geodrift.recipe._rows import sgrld as sgrld
