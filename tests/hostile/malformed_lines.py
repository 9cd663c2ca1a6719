"""Malformed bags of words (UCI, LDA-C, Matrix Market) and records (JSON lines, CSV, Parquet)."""

import bz2
import functools
import gzip
import importlib.util
import io

from malformed_arrays import flipped

MM = "%%MatrixMarket matrix coordinate integer general\n"
ZEROS = gzip.compress(b"0\n" * 2**25, 1)  # 64 MiB of empty documents in LDA-C

UCI = {
    "empty-lines": "\n\n\n",
    "no-counts": "3\n2\n2\n",
    "words-huge": "3\n1000000000000\n2\n1 1 1\n2 2 1\n",
    "words-many": "3\n300000000\n2\n1 1 1\n2 2 1\n",
    "documents-huge": "1000000000000\n2\n2\n1 1 1\n2 2 1\n",
    "documents-largest": "999999999999999999\n2\n1\n999999999999999999 1 1\n",
    "counts-huge": "3\n2\n999999999999999999\n1 1 1\n",
    "counts-few": "3\n2\n1\n1 1 1\n2 2 1\n",
    "header-negative": "-3\n2\n2\n1 1 1\n",
    "header-float": "3.0\n2\n2\n1 1 1\n",
    "header-hex": "0x3\n2\n2\n1 1 1\n",
    "header-digits": "9" * 400 + "\n2\n2\n1 1 1\n",
    "header-long": "3" * 2**20,
    "header-other-digits": "٣\n2\n1\n1 1 1\n",
    "one-line": "3 2 2 1 1 1 2 2 1",
    "word-zero": "3\n2\n1\n1 0 1\n",
    "word-beyond": "3\n2\n1\n1 3 1\n",
    "document-beyond": "3\n2\n1\n4 1 1\n",
    "out-of-order": "3\n2\n2\n2 1 1\n1 1 1\n",
    "two-numbers": "3\n2\n1\n1 1\n",
    "four-numbers": "3\n2\n1\n1 1 1 1\n",
    "colons": "3\n2\n1\n1:1 1\n",
    "count-negative": "3\n2\n1\n1 1 -1\n",
    "count-huge": "3\n2\n1\n1 1 99999999999\n",
    "count-float": "3\n2\n1\n1 1 1e3\n",
    "count-digits": "3\n2\n1\n1 1 " + "1" * 5000 + "\n",
    "zero-bytes": "3\n2\n1\n1 1\x001\n",
    "escapes": "3\n2\n1\n1 1 \x1b[2J\x1b]0;title\x07\n",
    "words-of-zero": "3\n2\n1\n1 1 0\n",
}

LDA_C = {
    "word-huge": "1 300000000:1\n",
    "word-largest": "1 999999999999999999:1\n",
    "two-colons": "1 0::1\n",
    "colon-first": "1 :0:1\n",
    "colon-last": "1 0:1:\n",
    "colon-apart": "1 0 :1\n",
    "colon-alone": ":\n",
    "pairs-huge": "999999999999 0:1\n",
    "pairs-many": "1 0:1 1:1\n",
    "pairs-few": "3 0:1 1:1\n",
    "number-alone": "1 0\n",
    "negative": "1 0:-1\n",
    "word-negative": "1 -1:1\n",
    "count-huge": "1 0:99999999999\n",
    "count-float": "1 0:1.5\n",
    "text": "1 a:b\n",
    "blank": "1 0:1\n\n1 0:1\n",
    "zero-bytes": "1 0:1\x00\n",
    "digits": "1 0:" + "9" * 4000 + "\n",
    "empty-documents": "0\n0\n",
    "utf-16": "\ufeff1 0:1\n".encode("utf-16").decode("latin1"),
    "escapes": "\x1b[2J 0:1\n",
}

MATRIX_MARKET = {
    "no-header": "1 2 3\n",
    "header-alone": MM,
    "sizes-missing": MM + "% a comment\n% another\n",
    "sizes-two": MM + "2 2\n1 1 1\n",
    "sizes-float": MM + "2.0 2 1\n1 1 1\n",
    "sizes-negative": MM + "-2 2 1\n1 1 1\n",
    "sizes-text": MM + "a b c\n",
    "sizes-digits": MM + "9" * 300 + " 2 1\n",
    "rows-huge": MM + "999999999999 2 1\n1 1 1\n",
    "columns-huge": MM + "2 999999999999 1\n1 1 1\n",
    "entries-huge": MM + "2 2 99999999999\n1 1 1\n",
    "entries-more": MM + "2 2 1\n1 1 1\n2 2 1\n",
    "entries-fewer": MM + "2 2 3\n1 1 1\n2 2 1\n",
    "row-zero": MM + "2 2 1\n0 1 1\n",
    "row-beyond": MM + "2 2 1\n3 1 1\n",
    "row-half": MM + "2 2 1\n1.5 1 1\n",
    "row-huge": MM + "2 2 1\n1e300 1 1\n",
    "row-nan": MM + "2 2 1\nnan 1 1\n",
    "column-negative": MM + "2 2 1\n1 -1 1\n",
    "entry-short": MM + "2 2 1\n1 1\n",
    "entry-long": MM + "2 2 1\n1 1 1 1\n",
    "count-nan": MM + "2 2 1\n1 1 nan\n",
    "count-infinite": MM + "2 2 1\n1 1 1e999\n",
    "count-negative": MM + "2 2 1\n1 1 -4\n",
    "count-text": MM + "2 2 1\n1 1 inf-inf\n",
    "count-two-points": MM + "2 2 1\n1 1 1.2.3\n",
    "comments": MM + "%\n" * 10000,
    "comment-long": MM + "%" * 100_000 + "\n2 2 1\n1 1 1\n",
    "array-huge": "%%MatrixMarket matrix array integer general\n999999 999999\n1\n",
    "array-short": "%%MatrixMarket matrix array integer general\n2 2\n1\n2\n3\n",
    "array-long": "%%MatrixMarket matrix array integer general\n2 2\n1\n2\n3\n4\n5\n",
    "array-pattern": "%%MatrixMarket matrix array pattern general\n2 2\n",
    "vector": "%%MatrixMarket vector coordinate integer general\n2 1\n1 1\n",
    "complex": "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 1 1 1\n",
    "hermitian": "%%MatrixMarket matrix coordinate real hermitian\n2 2 1\n1 1 1\n",
    "skew": "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 1\n",
    "symmetric-oblong": "%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n",
    "field": "%%MatrixMarket matrix coordinate quaternion general\n2 2 1\n1 1 1\n",
    "escapes": "%%MatrixMarket matrix coordinate \x1b[2J general\n2 2 1\n1 1 1\n",
    "words-few": "%%MatrixMarket matrix\n2 2 1\n1 1 1\n",
    "long-line": "%%MatrixMarket " + "a" * 2**20,
    "zero-bytes": MM + "2 2 1\n1 1 1\x00\n",
}

JSON_LINES = {
    "cut": '{"text": "a b c"}\n{"text": "a b',
    "not-json": "text\n",
    "array": '["text"]\n',
    "number": "3\n",
    "null": "null\n",
    "no-field": '{"body": "a b"}\n',
    "field-number": '{"text": 3}\n',
    "field-list": '{"text": ["a"]}\n',
    "nested": '{"text": ' + "[" * 100_000 + "]" * 100_000 + "}\n",
    "digits": '{"text": ' + "1" * 10_000 + "}\n",
    "blank": "\n\n\n",
    "two-objects": '{"text": "a"}{"text": "b"}\n',
    "single-quotes": "{'text': 'a'}\n",
    "zero-bytes": '{"text": "a\x00b"}\n',
    "escapes": '{"\\u001b[2J": "a"}\n',
    "infinity": '{"text": Infinity}\n',
}

CSV = {
    "quote-open": 'id,text\n1,"a b c\n2,d e f\n',
    "quote-open-first": '"id,text\n1,a\n',
    "quote-inside": 'id,text\n1,"a" b\n',
    "fields-few": "id,text\n1\n",
    "fields-many": "id,text\n1,a,b\n",
    "no-column": "id,body\n1,a\n",
    "column-twice": "text,text\na,b\n",
    "header-alone": "id,text\n",
    "header-blank": "\nid,text\n1,a\n",
    "carriage-returns": "id,text\r1,a\rb",
    "escapes": "\x1b[2J,\x9b2J\n1,a\n",
}


def encoded(text):
    """Bytes of a text in which a letter stands for itself or, below 256, for a byte."""
    return text.encode("utf-8")


def gzipped():
    """Compressed files that are damaged, or made to grow: (name, file name, bytes)."""
    plain = b"2\n2\n2\n1 1 1\n2 2 1\n" + b" " * 5000
    for ending, pack in ((".gz", gzip.compress), (".bz2", bz2.compress)):
        packed, name = pack(plain), f"docword.a.txt{ending}"
        yield f"uci{ending}-cut", name, packed[: len(packed) // 2]
        yield f"uci{ending}-flipped", name, flipped(packed[:12], 3, 4) + packed[12:]
        yield f"uci{ending}-plain", name, plain
        yield f"uci{ending}-more", name, packed + b"more"
        yield f"uci{ending}-header-alone", name, packed[:8]
        yield f"lda-c{ending}-empty-inside", f"a.ldac{ending}", pack(b"")
    yield "lda-c.gz-bomb", "a.ldac.gz", ZEROS
    yield "matrix-market.gz-bomb", "a.mm.gz", gzip.compress(MM.encode() + b"%" * 2**26, 1)
    yield "uci.bz2-bomb", "docword.a.txt.bz2", bz2.compress(b"1" * 2**26, 1)


@functools.cache
def _parquet(columns, compression="snappy"):
    """A file of columns, which are told as a tuple of (name, values)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    table = pa.table(
        {name: list(values) if values else pa.array([], pa.string()) for name, values in columns}
    )
    pq.write_table(table, stream, compression=compression)
    return stream.getvalue()


def _texts(values, name="text", **options):
    return _parquet(((name, values),), **options)


def _whole():
    return _texts(tuple(f"word{i % 7} word{i % 5}" for i in range(500)))


def parquet():
    """Parquet files: (name, function that makes the bytes); none where pyarrow is not installed."""
    if importlib.util.find_spec("pyarrow") is None:
        return
    for share in (0.1, 0.5, 0.9, 0.999):
        yield f"parquet-cut-{share}", lambda share=share: _whole()[: int(share * len(_whole()))]
    for seed in range(12):
        yield f"parquet-flipped-{seed}", lambda seed=seed: flipped(_whole(), seed, bits=8)
    yield "parquet-ends-alone", lambda: b"PAR1PAR1"
    yield "parquet-footer-huge", lambda: _whole()[:-8] + b"\xff\xff\xff\x7f" + b"PAR1"
    yield "parquet-no-column", lambda: _texts(("a",), name="body")
    yield "parquet-numbers", lambda: _texts((1, 2))
    yield "parquet-lists", lambda: _texts((("a",),))
    yield "parquet-bytes", lambda: _texts((b"\xff\xfe",))
    yield "parquet-no-rows", lambda: _texts(())
    yield "parquet-bomb", lambda: _texts(("a " * 2**26,), compression="zstd")
    yield "parquet-dictionary-bomb", lambda: _texts(("a " * 2**16,) * 3000, compression="zstd")
