"""Headers of arrays: the text of a stranger, read by many threads."""

import gc
import io
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from geodrift.data import InputError
from geodrift.data._npy_arrays import read_array, read_header

ARRAYS = (
    np.zeros(3, "<i8"),
    np.ones((2, 3), order="F"),
    np.array(2.5),
    np.array(["a", "b\u00fc"]),
    np.zeros((0, 4)),
)


def saved(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def with_header(text):
    return io.BytesIO(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode())


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: str(array.shape))
def test_arrays_that_numpy_saves_come_back(array):
    found = read_array(io.BytesIO(saved(array)), "a.npy")
    assert (found.dtype, found.flags.f_contiguous) == (array.dtype, array.flags.f_contiguous)
    np.testing.assert_array_equal(found, array)


def test_entries_come_in_any_order_and_as_python_2_wrote_them():
    found = read_header(with_header("{'shape': (3L, 2), \"descr\": '<f4', 'fortran_order': True}"), "a")
    assert found == (np.dtype("<f4"), True, (3, 2))


@pytest.mark.parametrize(
    ("descr", "order", "shape", "why"),
    [
        ("'<f4'", "False", "(3)", "damaged in the header"),
        ("'<f4'", "False", "(-3,)", "damaged in the header"),
        ("'<f4'", "False", "(3,), 'x': print()", "damaged in the header"),
        ("'<f4'", "'no'", "(3,)", "damaged in the header"),
        ("'<f4'", "False", f"({'9' * 5000},)", "damaged in the header"),
        ("'nothing'", "False", "(3,)", "damaged in the header"),
        ("'|O'", "False", "(3,)", "never unpickled"),
        ("[('a', '<i4')]", "False", "(3,)", "other than real numbers"),
        ("'i4,i4'", "False", "(3,)", "other than real numbers"),
    ],
)
def test_other_headers_are_refused(descr, order, shape, why):
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}"
    with pytest.raises(InputError, match=why):
        read_header(with_header(text), "a.npy")


class Collected:
    """Runs code when the garbage collector finds it."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        for _ in range(200):
            pass


def test_many_threads_read_headers_while_garbage_is_collected():
    content = saved(np.zeros(3))

    def read(_):
        Collected(), Collected(), Collected()
        return read_header(io.BytesIO(content), "a.npy").shape

    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(20)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(read, range(10_000))) == {(3,)}
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
