"""What differs between releases of JAX; and one that computes wrong numbers without a message is refused."""

from contextlib import AbstractContextManager

import jax
import jaxlib

# On CPUs, sums along the last axis of some thousands of rows are wrong, and with them projections onto a
# tangent space (https://github.com/jax-ml/jax/issues/39103; the releases before and after are right).
WRONG_RELEASES = ("0.10.2",)


def refuse_wrong_release(version: str = jaxlib.__version__) -> None:
    """Raise ImportError where the release is known to be wrong."""
    if version in WRONG_RELEASES:
        raise ImportError(
            f"jaxlib {version} computes wrong sums on CPUs, without a message (see"
            " https://github.com/jax-ml/jax/issues/39103), and geodrift's draws with it. Install another"
            f" release: pip install 'jax!={version}' 'jaxlib!={version}'"
        )


def double_precision() -> AbstractContextManager:
    """Float64 in JAX, whatever the program around it has; the context moved between releases."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return jax.experimental.enable_x64()  # type: ignore[attr-defined]
