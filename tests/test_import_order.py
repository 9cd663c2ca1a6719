"""The layers of `src/geodrift` as the code imports them, and the sizes that a reader can keep in view.

The files are parsed, never imported. Imports inside functions and under ``TYPE_CHECKING`` count as any other.
"""

import ast
import statistics
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "geodrift"

# From the lowest. A part imports itself and what stands in lines above its own; parts of one line do not know
# each other. "models.*" is every folder of a model.
LAYERS = (
    ("_errors", "_types", "_lazy", "_jax_release", "_terminal", "_convergence", "_whole"),
    ("_tree", "_keys", "_masked", "files", "kernels", "distributed"),
    ("distributions", "manifolds", "processes", "schedules"),
    ("integrators", "metrics", "estimators"),
    ("samplers", "numpyro"),
    ("recipe",),
    ("tuning",),
    ("driver",),
    ("diagnostics",),
    ("data", "report"),
    ("models.kit",),
    ("models.topics", "models.clusters"),
    ("models.*",),
    ("models._registry",),
    ("models",),
    ("plots", "cli"),
    ("__main__",),
)
SHARED_OF_MODELS = {"kit", "topics", "clusters", "_registry"}
# A model that is another one given something stands on it: a hierarchical Dirichlet process is LDA given the
# topics' weights. The other model knows nothing of it.
STANDS_ON = {"hierarchical_dirichlet_process": "latent_dirichlet_allocation"}
# `geodrift/__init__.py` stands above all parts; the version is the one thing in it that parts may read.
FROM_THE_TOP = {"__version__"}
# Users write `geodrift.models.LatentDirichletAllocation`: a model's folder is named here and nowhere else.
# The name is loaded on first use.
NAME_MODELS = {"models/__init__.py"}

# The function that every user calls describes every option of a run where it is typed. Its length is counted
# without the docstring, and it has this many parameters.
SAMPLE, PARAMETERS_OF_SAMPLE = "driver/_sample.py: sample", 14

LONGEST_FILE, LONGEST_FUNCTION, MOST_PARAMETERS, MEDIAN_FILE = 250, 60, 12, 92


class Import(NamedTuple):
    """One imported name."""

    file: str
    line: int
    module: str  # without "geodrift."; "" for the package itself
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.module or 'geodrift'}.{self.name}"


@cache
def trees() -> dict[str, ast.Module]:
    """The parsed files, by their path in the package."""
    files = sorted(PACKAGE.rglob("*.py"))
    return {str(file.relative_to(PACKAGE)): ast.parse(file.read_text("utf-8")) for file in files}


def imports(file: str, tree: ast.Module) -> Iterator[Import]:
    """What a file imports of the package, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, (
                f"{file}:{node.lineno} is a relative import, which this test does not read"
            )
            found = [(node.module or "", alias.name) for alias in node.names]
        else:
            continue
        for module, name in found:
            if module.split(".")[0] == "geodrift":
                yield Import(file, node.lineno, module.removeprefix("geodrift").removeprefix("."), name)


@cache
def all_imports() -> list[Import]:
    return [found for file, tree in trees().items() for found in imports(file, tree)]


def parts() -> set[str]:
    """The modules and folders right below the package."""
    return {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }


def part(module: str) -> str:
    """The part of `LAYERS` that a module belongs to."""
    first, *rest = module.split(".")
    if first != "models" or not rest:
        return first
    return f"models.{rest[0]}" if rest[0] in SHARED_OF_MODELS else "models.*"


def module_of(file: str) -> str:
    return ".".join(Path(file).with_suffix("").parts).removesuffix(".__init__").removesuffix("__init__")


@cache
def target(found: Import) -> str:
    """The module that is imported from: `from geodrift.models import kit` is of ``models.kit``."""
    inner = f"{found.module}.{found.name}".strip(".")
    path = PACKAGE / inner.replace(".", "/")
    is_module = path.with_suffix(".py").exists() or (path / "__init__.py").exists()
    return inner if found.name and is_module else found.module


@cache
def model_folders() -> list[str]:
    folders = {path.parent.name for path in PACKAGE.glob("models/*/__init__.py")}
    return sorted(folders - SHARED_OF_MODELS)


def folder_of_model(module: str) -> str | None:
    """The model in whose folder a module is."""
    first, second, *_ = [*module.split("."), "", ""]
    return second if first == "models" and second in model_folders() else None


def test_every_part_has_a_layer():
    named = {name.split(".")[0] for layer in LAYERS for name in layer}
    assert named == parts() - {"__init__"}


def test_no_import_points_up():
    height = {name: number for number, layer in enumerate(LAYERS) for name in layer}
    wrong = []
    for found in all_imports():
        own, other = part(module_of(found.file)), part(target(found))
        if found.file == "__init__.py" or own == other:
            continue
        allowed = found.name in FROM_THE_TOP if other == "" else height[other] < height[own]
        if not allowed:
            wrong.append(str(found))
    assert not wrong, "\n".join(wrong)


def test_models_do_not_know_each_other():
    wrong = []
    for found in all_imports():
        own, other = folder_of_model(module_of(found.file)), folder_of_model(target(found))
        known = other in (None, own) or STANDS_ON.get(own or "") == other
        if not known and found.file not in NAME_MODELS:
            wrong.append(str(found))
    assert len(model_folders()) >= 2
    assert not wrong, "\n".join(wrong)


def test_no_model_is_named_outside_its_folder():
    """Not in strings either, which `importlib` could be given."""
    wrong = []
    for file, tree in trees().items():
        if file in NAME_MODELS:
            continue
        own = folder_of_model(module_of(file))
        values = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        names = [value for value in values if isinstance(value, str)]
        for folder in model_folders():
            if folder != own and any(folder in name for name in names):
                wrong.append(f"{file} names {folder}")
    assert not wrong, "\n".join(wrong)


def test_driver_knows_neither_models_nor_data():
    """The order of the layers says so too; this stays if the order is changed."""
    wrong = [
        str(found)
        for found in all_imports()
        if found.file.startswith("driver/") and target(found).split(".")[0] in ("models", "data", "cli")
    ]
    assert not wrong, "\n".join(wrong)


def lengths() -> dict[str, int]:
    return {file: len((PACKAGE / file).read_text("utf-8").splitlines()) for file in trees()}


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Every function and method, by "file: name"; constructors that dataclasses generate are not written."""
    for file, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{file}: {node.name}", node


def compiled(file: str) -> set[str]:
    """Names of the functions of a file that numba compiles: decorated, or given to `TwoForms`."""
    names = set()
    for node in ast.walk(trees()[file]):
        if isinstance(node, ast.FunctionDef):
            decorators = " ".join(ast.unparse(decorator) for decorator in node.decorator_list)
            if "njit" in decorators or "intrinsic" in decorators:
                names.add(node.name)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "TwoForms":
            names.add(ast.unparse(node.args[0]))
    return names


def estimators_of_scikit_learn() -> set[str]:
    """Files of the facades."""
    return {f"models/{folder}/_facade.py" for folder in model_folders()}


def parameters(function: ast.FunctionDef) -> list[str]:
    """Names of the parameters, ``*args`` and ``**kwargs`` one each, without self and cls."""
    told = function.args
    names = [a.arg for a in (*told.posonlyargs, *told.args, told.vararg, *told.kwonlyargs, told.kwarg) if a]
    return [name for name in names if name not in ("self", "cls")]


def test_files_are_short():
    long = {file: length for file, length in lengths().items() if length > LONGEST_FILE}
    assert not long
    assert statistics.median(lengths().values()) <= MEDIAN_FILE


def test_functions_are_short():
    sizes = {name: node.end_lineno - node.lineno + 1 for name, node in functions()}
    described = dict(functions())[SAMPLE].body[0]
    sizes[SAMPLE] -= described.end_lineno - described.lineno + 1
    assert not {name: size for name, size in sizes.items() if size > LONGEST_FUNCTION}


def test_functions_have_few_parameters():
    """Two kinds are excepted, each because what calls it dictates the form, and `SAMPLE` has its own number.

    A function that numba compiles takes arrays and numbers one by one: a tuple of them would be unpacked at
    every call, and types of tuples are slow to compile. A scikit-learn estimator has one parameter of its
    constructor for each setting, which `get_params`, `set_params` and `clone` read from the signature.
    """
    many = {}
    for name, node in functions():
        most = PARAMETERS_OF_SAMPLE if name == SAMPLE else MOST_PARAMETERS
        if len(parameters(node)) <= most:
            continue
        file, _, function = name.partition(": ")
        of_estimator = function == "__init__" and file in estimators_of_scikit_learn()
        if not of_estimator and function not in compiled(file):
            many[name] = len(parameters(node))
    assert not many


@pytest.mark.parametrize(
    ("file", "line", "wrong"),
    [
        ("kernels/_gamma.py", "from geodrift.driver import Plan", True),
        ("driver/_plan.py", "def f():\n    from geodrift.data import Corpus", True),
        ("samplers/_hmc.py", "if TYPE_CHECKING:\n    import geodrift.recipe", True),
        ("driver/_run.py", "from geodrift import __version__", False),
        ("models/kit/_model.py", "from geodrift.models import topics", True),
    ],
)
def test_an_import_is_read_wherever_it_stands(file, line, wrong):
    height = {name: number for number, layer in enumerate(LAYERS) for name in layer}
    (found,) = imports(file, ast.parse(line))
    other = part(target(found))
    assert (height.get(other, -1) > height[part(module_of(file))]) == wrong
