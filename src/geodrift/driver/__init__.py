"""The driver: chains, plans, the loop that carries them out, and the run directory."""

from geodrift.driver._chain import Chain as Chain
from geodrift.driver._chain import Chunk as Chunk
from geodrift.driver._chain import ShownMetric as ShownMetric
from geodrift.driver._chain import Variable as Variable
from geodrift.driver._draws import Draws as Draws
from geodrift.driver._draws import RunProgress as RunProgress
from geodrift.driver._fit import FitResult as FitResult
from geodrift.driver._fit import Length as Length
from geodrift.driver._fit import fit_to_run as fit_to_run
from geodrift.driver._fit import plan_of as plan_of
from geodrift.driver._fit import sampled as sampled
from geodrift.driver._host_chain import HostChain as HostChain
from geodrift.driver._host_data import HostData as HostData
from geodrift.driver._loop import chunks as chunks
from geodrift.driver._plan import Plan as Plan
from geodrift.driver._plan import Room as Room
from geodrift.driver._plan import Shares as Shares
from geodrift.driver._repair import repair as repair
from geodrift.driver._run import Run as Run
from geodrift.driver._run import load as load
from geodrift.driver._run_config import Labels as Labels
from geodrift.driver._sample import sample as sample
from geodrift.driver._start import PerChain as PerChain
from geodrift.driver._survey import Survey as Survey
from geodrift.driver._survey import survey as survey
from geodrift.files import StorageFullError as StorageFullError
