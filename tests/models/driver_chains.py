"""Draws of a chain of a model that begins at given topics."""

from geodrift.driver import sampled
from geodrift.models import model_named


def drawn_from(name, law, number, topics, steps=None):
    """The draws of one chain of a small problem, which begins at these topics (None: its own)."""
    model = model_named(name)
    settings = model.settings_type.from_dict(law.settings)
    chain = model.answers().chain(law.corpus, settings, seed=1, chain=number, held_out=None)
    if topics is not None:
        chain.start_from(topics)
    found = sampled([chain], steps or law.num_steps)
    return {variable: values[0] for variable, values in found.items()}
