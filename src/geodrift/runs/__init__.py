"""Run directories: settings, draws, metrics and checkpoints of a fit that can be killed and resumed."""

from geodrift.runs._fit import Engine as Engine
from geodrift.runs._fit import FitResult as FitResult
from geodrift.runs._fit import StorageFullError as StorageFullError
from geodrift.runs._fit import fit_to_run as fit_to_run
from geodrift.runs._model import Model as Model
from geodrift.runs._models import MODELS as MODELS
from geodrift.runs._models import aligned_draws as aligned_draws
from geodrift.runs._models import aligned_topics as aligned_topics
from geodrift.runs._models import create_run as create_run
from geodrift.runs._models import document_rows as document_rows
from geodrift.runs._models import evaluate as evaluate
from geodrift.runs._models import expected_topics as expected_topics
from geodrift.runs._models import make_engines as make_engines
from geodrift.runs._models import memory_needed as memory_needed
from geodrift.runs._models import model_named as model_named
from geodrift.runs._models import refusal as refusal
from geodrift.runs._models import summarise as summarise
from geodrift.runs._models import transform as transform
from geodrift.runs._run import Run as Run
from geodrift.runs._run import load as load
