"""Latent Dirichlet allocation: Blei, Ng and Jordan (2003); Griffiths and Steyvers (2004)."""

from geodrift.models.latent_dirichlet_allocation._engine import Engine as Engine
from geodrift.models.latent_dirichlet_allocation._evaluation import CompletionScore as CompletionScore
from geodrift.models.latent_dirichlet_allocation._evaluation import (
    completion_perplexity as completion_perplexity,
)
from geodrift.models.latent_dirichlet_allocation._evaluation import split_tokens as split_tokens
from geodrift.models.latent_dirichlet_allocation._settings import Settings as Settings
