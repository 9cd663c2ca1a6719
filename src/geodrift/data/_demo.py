"""A real corpus that needs no download: the docstrings of Python and of installed scientific packages."""

import ast
import re
import sysconfig
import warnings
from collections import deque
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from geodrift._errors import InputError
from geodrift.data._build import Progress
from geodrift.data._corpus import Corpus
from geodrift.data._text import TextOptions
from geodrift.data._texts_in_memory import build_from_texts
from geodrift.data._workers import mapped, usable_cores

_PACKAGES = (
    "numpy", "scipy", "sklearn", "pandas", "xarray", "jax", "matplotlib", "zarr", "equinox", "rich",
)  # fmt: skip
_SKIPPED_FOLDERS = {
    "tests",
    "test",
    "testing",
    "_vendor",
    "vendored",
    "vendor",
    "idlelib",
    "lib2to3",
    "__pycache__",
    "site-packages",
    "dist-packages",
    "externals",
    "array_api_compat",
    "array_api_extra",
    "turtledemo",
}
_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")  # what holds statements
_MINIMUM_WORDS = 25  # of a docstring; about a dozen are left without stop words
# Parsing takes most of the time, and two thirds of the files hold about as many documents as are kept.
_FILES_KEPT, _FILES_OF = 2, 3
_WORD = re.compile(r"[^\W\d_]{2,}")
# Markers of a docstring's form, not of what it is about.
_BOILERPLATE = """
    param params parameter parameters arg args kwargs kwarg argument arguments return returns returned
    returning raise raises raised default defaults optional optionally see also note notes example
    examples reference references yield yields int ints str strs bool bools float floats none true false
    array_like ndarray self cls type types value values object objects instance instances class classes
    subclass method methods function functions attribute attributes use used uses using given give gives
    specified specify specifies specifying provided provide provides passed pass passing passes set sets
    setting create creates created call called calls calling ref func meth obj mod exc versionadded
    versionchanged deprecated version versions new like def import https http www org com doi et al pp
    vol ed eds shape dtype dtypes list lists tuple tuples dict string strings number numbers following
    follows different possible allow allows allowed allowing way ways case cases behavior behaviour
    usually does doesn don want need needs needed make makes making just corresponding corresponds
    current currently based result results resulting input inputs output outputs data test tests print
    name names named defined defines define left right should then any whether has may its other first
    than into otherwise non two either containing contains contain contained these such there both
    instead some they before after was without within up how most via over along between equal
    equivalent original means mean additional available always applied apply applies form include
    included includes including ignored ignore support supported supports specific second directly
    representing represents represent being do more must can will would module modules package code
    python ones one details detail information get gets keyword keywords implementation implemented
    implements computed compute computes computing another same multiple single certain various general
    simple similar shall thus therefore hence however typically often add added adds adding change
    changed changes ignores rather since well every below above while when where which what who why
    itself them themselves their could might still already etc ie eg vs per only out option options
    convert converted converts perform performs performed performing required requires require take
    takes taken taking work works working know known useful desired effect place kind exactly correct
    correctly consider considered valid check checks checked element elements size length array arrays
"""
_OPTIONS = TextOptions(
    min_df=10,
    max_df=0.2,
    max_words=5000,
    stop_words="english",
    extra_stop_words=tuple(_BOILERPLATE.split()),
    token_pattern=r"(?u)\b[a-z][a-z]+\b",
)


def demo_corpus(
    max_documents: int = 12_000,
    workers: int | None = 1,
    progress: Progress = lambda done, total, what: None,
) -> Corpus:
    """Make a corpus in memory from docstrings; files are parsed, and none is imported.

    A document is the docstring of a module, class or function of Python's library or of an installed package.

    Args:
        max_documents: Largest number of documents; they are evenly spaced in the order of package and file.
        workers: Number of processes that parse files, as in `build_corpus`; None: one for each core.
        progress: Is told how many files are parsed, of how many, and what goes on.

    Raises:
        InputError: Fewer than 100 docstrings were found (a Python without its library's sources).
    """
    files, found = _evenly(list(_files())), {}
    with mapped(usable_cores() if workers is None else workers) as each:
        for number, texts_of_file in enumerate(each(_docstrings, files), start=1):
            # The same docstring is often shared by a method of many classes.
            found.update(dict.fromkeys(texts_of_file))
            progress(number, len(files), "reading docstrings")
    texts = list(found)
    if len(texts) < 100:
        raise InputError("the sources of the standard library are not installed: there is no demo corpus")
    if len(texts) > max_documents:
        texts = [texts[i * len(texts) // max_documents] for i in range(max_documents)]
    return build_from_texts(texts, _OPTIONS, made={"from": "docstrings", "options": _OPTIONS.to_dict()})


def _files() -> Iterator[Path]:
    """Python files of the standard library and of the packages that are installed."""
    roots = [Path(sysconfig.get_paths()["stdlib"])]
    for package in _PACKAGES:
        spec = find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            roots += map(Path, spec.submodule_search_locations)
    for root in roots:
        for file in sorted(root.rglob("*.py")):
            if not _SKIPPED_FOLDERS.intersection(file.relative_to(root).parts):
                yield file


def _evenly(files: list[Path]) -> list[Path]:
    """Evenly spaced files, `_FILES_KEPT` of every `_FILES_OF`."""
    return [file for place, file in enumerate(files) if place * _FILES_KEPT % _FILES_OF < _FILES_KEPT]


def _docstrings(file: Path) -> list[str]:
    """The text of every docstring that is long enough; none from a file that cannot be parsed."""
    source = file.read_text(encoding="utf-8", errors="replace")
    if '"""' not in source and "'''" not in source:
        return []
    try:
        with warnings.catch_warnings():
            # Parsing old files warns of invalid escape sequences, which do not matter here.
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    texts = []
    for node in _statements(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = _prose(ast.get_docstring(node, clean=True) or "")
            if len(_WORD.findall(text)) >= _MINIMUM_WORDS:
                texts.append(text)
    return texts


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Those of `ast.walk` that may be definitions, in its order: most of a file's nodes are expressions."""
    nodes = deque([tree])
    while nodes:
        node = nodes.popleft()
        for block in _BLOCKS:
            nodes.extend(getattr(node, block, ()))
        yield node


def _prose(docstring: str) -> str:
    """The text of a docstring without doctests, their output, code, lines of dashes and markup."""
    lines, in_example = [], False
    for line in docstring.splitlines():
        stripped = line.strip()
        if not stripped:
            in_example = False
        elif stripped.startswith((">>>", "...", "$ ", "%")):
            in_example = True
        elif (
            not in_example and not re.fullmatch(r"[-=~*+|.\s]+", stripped) and not stripped.startswith(".. ")
        ):
            lines.append(line)
    text = " ".join(lines)
    return re.sub(r"https?://\S+|:\w+:`[^`]*`|``[^`]*``|`[^`]*`", " ", text)
