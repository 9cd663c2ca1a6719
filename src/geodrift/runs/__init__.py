"""Run directories: settings, draws, metrics and checkpoints of a fit that can be killed and resumed."""

from geodrift.runs._fit import Engine as Engine
from geodrift.runs._fit import FitResult as FitResult
from geodrift.runs._fit import StorageFullError as StorageFullError
from geodrift.runs._fit import fit_to_run as fit_to_run
from geodrift.runs._run import Run as Run
from geodrift.runs._run import load as load
