"""Which devices have documents drawn by kernels for GPUs."""

import warnings

import jax
import pytest

from geodrift.kernels import _device

pytestmark = pytest.mark.usefixtures("unchecked_types")  # the devices here are none of JAX's


def asked(monkeypatch, backend, **device):
    """The answer for a device that says this of itself."""
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    found = _Device()
    vars(found).update(device, device_kind="a GPU")
    monkeypatch.setattr(jax, "local_devices", lambda: [found])
    return _device.in_triton()


class _Device:
    """Compared by identity, as devices are."""


@pytest.mark.parametrize("capability", ["8.0", "9.0", "12.1"])
def test_gpus_of_nvidia_take_kernels(capability, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert asked(monkeypatch, "gpu", compute_capability=capability)


@pytest.mark.parametrize("device", [{"compute_capability": "7.5"}, {"compute_capability": "gfx942"}, {}])
def test_other_gpus_do_not_and_a_warning_says_what_would(device, monkeypatch):
    with pytest.warns(
        UserWarning, match=r"on 'a GPU' with jax .* NVIDIA GPU of compute capability 8.0 or higher"
    ):
        assert not asked(monkeypatch, "gpu", **device)


def test_a_release_of_jax_without_triton_is_told_of(monkeypatch):
    monkeypatch.setattr(_device, "find_spec", lambda name: None if name.endswith("triton") else object())
    with pytest.warns(UserWarning, match="a jax that has Triton"):
        assert not asked(monkeypatch, "gpu", compute_capability="9.0")


def test_processors_take_none(monkeypatch):
    assert not asked(monkeypatch, "cpu")
