"""The threads of the BLAS, which NumPy's and SciPy's products of matrices use."""

import functools
from contextlib import AbstractContextManager

from threadpoolctl import ThreadpoolController


@functools.cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  its library is to be loaded, as NumPy's is

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager:
    """One thread for the BLAS in all of the process, until the end of the ``with`` block.

    Its results can depend on the number of threads in the last bits. Of small products several threads, which
    wait for each other, take ten times as long where other processes work. Blocks within one another, in
    whatever threads, leave it at one.
    """
    return _controller().limit(limits=1, user_api="blas")
