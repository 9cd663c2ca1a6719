"""The spherical admixture model as it runs where JAX's device is no CPU: here in JAX on the CPU.

Its mixtures, sums and shear moves are tested beside the compiled ones, in `test_mixtures`,
`test_sam_gradient` and `test_shear`, and its chains in `test_sam_chain`.
"""

import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from geodrift.driver import sampled
from geodrift.kernels import _device
from geodrift.models.spherical_admixture import Chain, Settings
from geodrift.models.spherical_admixture.documents._document_states import recompute_sums
from geodrift.models.spherical_admixture.sampler._device_move import DeviceMove
from geodrift.models.spherical_admixture.sampler._geodesic_move import GeodesicMove
from geodrift.models.spherical_admixture.sampler._stochastic_move import StochasticMove
from law_checks import assert_means
from models import model_laws, sam_devices
from models.sam_problem import SETTINGS, planted


@pytest.mark.slow
def test_what_a_chain_s_steps_are_made_of_is_a_matter_of_the_device(monkeypatch):
    def move(backend, **settings):
        monkeypatch.setattr(jax, "default_backend", lambda: backend)
        return Chain(planted()[0], Settings(**SETTINGS, **settings))._move_type()

    assert move("cpu") is StochasticMove
    assert move("gpu") is DeviceMove
    assert move("gpu", latents="fresh") is StochasticMove
    assert move("gpu", method="gmc-gibbs") is GeodesicMove


@pytest.mark.slow  # enumeration, or the exact chain, tells the same law in CI
@pytest.mark.usefixtures("in_jax")
def test_posterior_means_of_a_small_problem_with_mixtures_in_jax():
    """By quadrature, as `test_every_model` has them of the compiled kernel."""
    law, draws = model_laws.sam(), []
    for number in range(law.num_chains):
        chain = Chain(law.corpus, Settings(**law.settings), seed=1, chain=number)
        found = sampled([chain], law.num_steps)
        draws.append(law.statistics({name: values[0] for name, values in found.items()}))
    assert_means(np.array(draws), law.expected)


@pytest.mark.slow
def test_the_host_takes_up_what_a_device_has_put_down(monkeypatch):
    settings = Settings(**SETTINGS, batch_size=20)
    on_host = Chain(planted()[0], settings, seed=2)
    with monkeypatch.context() as patch:
        patch.setattr(_device, "in_jax", lambda: True)
        on_device = Chain(planted()[0], settings, seed=2)
        for _ in range(11):
            on_device.step()
    types = {name: value.dtype for name, value in on_host.state().items()}
    on_host.restore(on_device.state())
    np.testing.assert_array_equal(on_host.topics(), on_device.topics())
    np.testing.assert_array_equal(on_host.latents.mixtures, on_device.latents.mixtures)
    for _ in range(11):
        on_host.step()
    assert {name: value.dtype for name, value in on_host.state().items()} == types
    kept = on_host.latents.weighted_documents.copy()
    recompute_sums(on_host.latents, on_host.source)
    np.testing.assert_allclose(kept, on_host.latents.weighted_documents, atol=1e-4)


@pytest.mark.slow
def test_several_devices_take_the_steps_of_one(tmp_path):
    """Up to the order of additions in a product, which may be another where a device has fewer documents."""
    programs = [
        subprocess.Popen(
            [sys.executable, Path(sam_devices.__file__), tmp_path / f"{devices}.npz", str(devices)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for devices in (1, 4)
    ]
    told = [program.communicate(timeout=300)[0].decode() for program in programs]
    assert not any(program.returncode for program in programs), told
    with np.load(tmp_path / "1.npz") as one, np.load(tmp_path / "4.npz") as four:
        assert one.keys() == four.keys()
        for name in one:
            np.testing.assert_allclose(four[name], one[name], rtol=1e-5, atol=1e-5, err_msg=name)
