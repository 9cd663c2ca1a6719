"""Malformed .npz and .npy files, and the parts that they are made of."""

import io
import lzma
import struct
import warnings
import zipfile
import zlib

import numpy as np
import scipy.sparse as sp

DENSE = np.array([[1, 0, 2], [0, 3, 0], [4, 0, 5], [0, 6, 7]])
FAR, HUGE = 10**6, 2**40


def npy(array):
    """The bytes of an array as `numpy.save` writes them."""
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def npy_with(text, values=b"", version=(1, 0), length=None):
    """An array with any text for its header."""
    size = struct.pack("<H" if version[0] == 1 else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes(version) + size + text + values


def archive(members, method=zipfile.ZIP_STORED):
    """A zip archive of (name, bytes), names once or several times."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of repeated names
        for name, content in members:
            out.writestr(name, content)
    return stream.getvalue()


def members(form):
    """The arrays of a matrix in a format, by their names."""
    matrix = sp.coo_matrix(DENSE).asformat(form)
    if form == "bsr":
        matrix = sp.bsr_matrix(np.kron(DENSE, np.ones((2, 1), int)), blocksize=(2, 1))
    names = {"coo": ("row", "col"), "dia": ("offsets",)}.get(form, ("indptr", "indices"))
    arrays = {name: np.array(getattr(matrix, name)) for name in names}
    return arrays | {"format": np.array(form.encode()), "shape": np.array(matrix.shape), "data": matrix.data}


def npz(form, method=zipfile.ZIP_STORED, **changes):
    """A matrix with other arrays in the place of its own; None leaves one out, bytes stand as they are."""
    arrays = {name: value for name, value in (members(form) | changes).items() if value is not None}
    contents = [(f"{n}.npy", v if isinstance(v, bytes) else npy(v)) for n, v in arrays.items()]
    return archive(contents, method)


def changed(values, place, value):
    """A copy with one value changed."""
    values = np.array(values, copy=True)
    values[place] = value
    return values


def flipped(content, seed, bits=1):
    """Bytes with some bits flipped at random places."""
    content, rng = bytearray(content), np.random.default_rng(seed)
    for place in rng.integers(len(content), size=bits):
        content[place] ^= 1 << int(rng.integers(8))
    return bytes(content)


def compressed_arrays():
    """Of CSR, CSC and BSR: (name, bytes)."""
    for form in ("csr", "csc", "bsr"):
        own = members(form)
        indptr, indices, data = own["indptr"], own["indices"], own["data"]
        cases = {
            "index-beyond": {"indices": changed(indices, 1, FAR)},
            "index-just-beyond": {"indices": changed(indices, 1, 8)},
            "index-negative": {"indices": changed(indices, 0, -1)},
            "index-smallest": {"indices": changed(indices.astype(np.int64), 0, -(2**63))},
            "index-unsigned": {"indices": changed(indices.astype(np.uint64), 0, 2**64 - 1)},
            "indices-float": {"indices": indices + 0.5},
            "indices-text": {"indices": indices.astype("U3")},
            "indices-short": {"indices": indices[:-1]},
            "indices-empty": {"indices": indices[:0]},
            "indices-matrix": {"indices": indices[None]},
            "indptr-jump": {"indptr": changed(indptr, 1, FAR)},
            "indptr-falling": {"indptr": changed(indptr, 1, 5)},
            "indptr-negative": {"indptr": changed(indptr, 1, -5)},
            "indptr-unsigned": {"indptr": changed(indptr.astype(np.uint32), 1, 2**32 - 1)},
            "indptr-start": {"indptr": changed(indptr, 0, 1)},
            "indptr-end": {"indptr": changed(indptr, -1, FAR)},
            "indptr-end-early": {"indptr": changed(indptr, -1, indptr[-2])},
            "indptr-short": {"indptr": indptr[:-1]},
            "indptr-long": {"indptr": np.append(indptr, indptr[-1])},
            "indptr-float": {"indptr": indptr.astype(float)},
            "indptr-empty": {"indptr": indptr[:0]},
            "data-short": {"data": data[:-1]},
            "data-flat": {"data": data.reshape(1, -1)},
            "data-nan": {"data": np.full(data.shape, np.nan)},
            "data-infinite": {"data": np.full(data.shape, np.inf)},
            "data-negative": {"data": -data},
            "data-complex": {"data": data * 1j},
            "data-text": {"data": data.astype("U3")},
            "data-quadruple": {"data": data.astype(np.longdouble)},
            "data-largest": {"data": np.full(data.shape, 1e300)},
            "shape-wide": {"shape": np.array([own["shape"][0], HUGE])},
            "shape-tall": {"shape": np.array([HUGE, own["shape"][1]])},
            "shape-largest": {"shape": np.array([2**62, 2**62])},
            "shape-negative": {"shape": np.array([-4, -3])},
            "shape-zero": {"shape": np.array([0, 0])},
            "shape-three": {"shape": np.array([4, 3, 1])},
            "shape-float": {"shape": np.array([4.0, 3.0])},
            "shape-nan": {"shape": np.array([np.nan, 3.0])},
            "shape-text": {"shape": np.array(["4", "3"])},
            "shape-of-none": {"shape": np.array([], np.int64)},
        }
        cases |= {f"no-{name}": {name: None} for name in own}
        for name, changes in cases.items():
            yield f"npz-{form}-{name}", npz(form, **changes)


def other_formats():
    """Of COO and DIA, and of formats that are none: (name, bytes)."""
    coo, dia = members("coo"), members("dia")
    cases = {
        "coo-row-beyond": ("coo", {"row": changed(coo["row"], 0, FAR)}),
        "coo-row-negative": ("coo", {"row": changed(coo["row"], 0, -1)}),
        "coo-column-beyond": ("coo", {"col": changed(coo["col"], 0, FAR)}),
        "coo-column-negative": ("coo", {"col": changed(coo["col"], 0, -3)}),
        "coo-rows-short": ("coo", {"row": coo["row"][:-1]}),
        "coo-rows-float": ("coo", {"row": coo["row"] + 0.25}),
        "coo-wide": ("coo", {"shape": np.array([4, HUGE])}),
        "coo-tall": ("coo", {"shape": np.array([HUGE, 3])}),
        "coo-data-nan": ("coo", {"data": coo["data"] * np.nan}),
        "dia-offsets-short": ("dia", {"offsets": dia["offsets"][:-1]}),
        "dia-offsets-float": ("dia", {"offsets": dia["offsets"] + 0.5}),
        "dia-offsets-twice": ("dia", {"offsets": dia["offsets"] * 0}),
        "dia-offsets-far": ("dia", {"offsets": dia["offsets"] + FAR}),
        "dia-data-flat": ("dia", {"data": dia["data"].ravel()}),
        "dia-wide": ("dia", {"shape": np.array([4, HUGE])}),
        "dia-tall": ("dia", {"shape": np.array([HUGE, 3])}),
        "dia-square": ("dia", {"shape": np.array([HUGE, HUGE])}),
        "format-number": ("csr", {"format": np.array(3)}),
        "format-float": ("csr", {"format": np.array(0.5)}),
        "format-list": ("csr", {"format": np.array([b"csr", b"csc"])}),
        "format-none": ("csr", {"format": np.array([], "S3")}),
        "format-unknown": ("csr", {"format": np.array(b"xyz")}),
        "format-lil": ("csr", {"format": np.array(b"lil")}),
        "format-bytes": ("csr", {"format": np.array(b"\xff\xfe\x1b[2J")}),
        "format-of-another": ("csr", {"format": np.array(b"bsr")}),
        "format-pickled": ("csr", {"format": np.array({"a": 1}, object)}),
        "data-pickled": ("csr", {"data": np.array([{}] * 7, object)}),
        "shape-pickled": ("csr", {"shape": np.array([{}], object)}),
        "header-unfinished": ("csr", {"data": npy_with(b"{'descr': '<i8', 'shape': (")}),
        "header-huge": ("csr", {"data": npy_with(header(shape=(HUGE,)))}),
        "header-short": ("csr", {"data": b"\x93NUM"}),
        "member-empty": ("csr", {"indices": b""}),
        "member-text": ("csr", {"indices": b"hello"}),
    }
    for name, (form, changes) in cases.items():
        yield f"npz-{name}", npz(form, **changes)


def archives():
    """Zip archives that are damaged, or made to grow: (name, bytes)."""
    whole = npz("csr", zipfile.ZIP_DEFLATED)
    for share in (0.02, 0.3, 0.6, 0.9, 0.99):
        yield f"npz-cut-{share}", whole[: int(share * len(whole))]
    for seed in range(12):
        yield f"npz-flipped-{seed}", flipped(npz("csc"), seed, bits=1 + seed // 3)
    for method, name in ((zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "lzma")):
        packed = npz("csr", method)
        yield f"npz-{name}", packed
        start = packed.index(b"indptr.npy") + 20
        yield f"npz-{name}-corrupt", packed[:start] + b"\xff" * 10 + packed[start + 10 :]
    encrypted = bytearray(whole)
    for place in (whole.index(b"PK\x03\x04") + 6, whole.index(b"PK\x01\x02") + 8):
        encrypted[place] |= 1
    yield "npz-encrypted", bytes(encrypted)
    yield "npz-empty-archive", archive([])
    yield "npz-other-members", archive([("a.txt", b"hello"), ("b.npy", npy(DENSE))])
    yield "npz-text", b"these are not the counts"
    yield "npz-array", npy(DENSE)
    yield "npz-only-end", b"PK\x05\x06" + bytes(18)
    yield "npz-xz", lzma.compress(whole)
    twice = [(f"{name}.npy", npy(value)) for name, value in members("csr").items()]
    twice[0] = ("indptr.npy", npy(changed(members("csr")["indptr"], 1, FAR)))
    yield "npz-names-twice", archive([*((f"{n}.npy", npy(v)) for n, v in members("csr").items()), *twice])
    zeros = npy_with(header(shape=(2**27,)), bytes(2**27))
    yield "npz-bomb", npz("csr", zipfile.ZIP_DEFLATED, data=zeros)
    claimed = bytearray(npz("csr", zipfile.ZIP_DEFLATED))
    place = claimed.rindex(b"PK\x01\x02")
    claimed[place + 24 : place + 28] = struct.pack("<I", 2**32 - 2)  # the decompressed size of the last one
    yield "npz-claims-size", bytes(claimed)


def header(descr="|u1", order="False", shape=(4, 3), extra=""):
    """The text of an array's header."""
    return f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape}, {extra}}}\n".encode()


def dense_arrays():
    """Files named .npy: (name, bytes)."""
    plain = npy(DENSE)
    values = bytes(12)
    for name, text in {
        "unfinished": b"{'descr': '<i8', 'fortran_order': False, 'shape': (4, 3",
        "no-dictionary": b"[1, 2, 3]",
        "no-shape": b"{'descr': '<i8', 'fortran_order': False}",
        "call": b"{'descr': '<i8', 'fortran_order': False, 'shape': (exit(), 3)}",
        "nested": b"(" * 5000,
        "lists": b"[" * 150 + b"]" * 150,
        "escapes": b"{'descr': '\\q\\w\\x1b[2J', 'fortran_order': False, 'shape': (4, 3)}",
        "zero-byte": b"{'descr': '<i8\x00', 'fortran_order': False, 'shape': (4, 3)}",
        "number": b"9" * 5000,
        "rows-huge": header(shape=(HUGE, 3)),
        "columns-huge": header(shape=(4, HUGE)),
        "both-huge": header(shape=(2**62, 2**62)),
        "negative": header(shape=(-4, -3)),
        "no-rows": header(shape=(0, 3)),
        "no-columns": header(shape=(HUGE, 0)),
        "float-shape": header(shape=(4.0, 3.0)),
        "boolean-shape": header(shape=(True, 12)),
        "text-shape": header(shape="(4, 3)"),
        "one-dimension": header(shape=(12,)),
        "no-dimension": header(shape=()),
        "forty-dimensions": header(shape=(1,) * 40),
        "order-number": header(order="7"),
        "objects": header(descr="|O"),
        "nothing": header(descr="|V1"),
        "complex": header(descr="<c16"),
        "records": header(descr="i4,i4"),
        "unknown": header(descr="<q99"),
        "dates": header(descr="<M8[ns]"),
        "text": header(descr="<U1000000000"),
        "list": header(descr=[("a", "<i8")]),
        "empty-text": header(descr="<U0"),
    }.items():
        yield f"npy-header-{name}", npy_with(text, values)
    yield "npy-version", npy_with(header(), values, version=(9, 0))
    yield "npy-version-3-huge", npy_with(header(), values, version=(3, 0), length=2**32 - 1)
    yield "npy-length-long", npy_with(header(), values, length=60_000)
    yield "npy-length-zero", npy_with(header(), values, length=0)
    yield "npy-magic", b"\x93NUMPX" + plain[6:]
    yield "npy-magic-alone", plain[:6]
    yield "npy-more", plain + b"more"
    for share in (0.05, 0.5, 0.95):
        yield f"npy-cut-{share}", plain[: int(share * len(plain))]
    yield "npy-objects", npy(np.array([[{}, 1]], object))
    yield "npy-three-dimensions", npy(DENSE[None])
    yield "npy-nan", npy(DENSE * np.nan)
    yield "npy-negative", npy(-DENSE)
    yield "npy-zeros", npy(0 * DENSE)
    yield "npy-archive", npz("csr")
    yield "npy-gzip", zlib.compress(plain, wbits=31)
    yield "npy-text", b"1 2 3\n4 5 6\n"
