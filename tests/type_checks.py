"""beartype as jaxtyping's import hook calls it to check the library's annotations while tests run.

python -m pytest --jaxtyping-packages=geodrift.data,type_checks.check tests/data
"""

from collections.abc import Callable
from typing import Any, BinaryIO, Self

from beartype import BeartypeConf, beartype

# PEP 484: an `int` will do where `float` is said.
_beartype = beartype(conf=BeartypeConf(is_pep484_tower=True))


def check(function: Callable) -> Callable:
    """The function with its arguments and its result checked on every call.

    `Self` is not checked: beartype knows its meaning in decorated classes only, and the hook decorates
    functions. Nor is `BinaryIO`: it asks for `mode` and `name`, which files of fsspec's stores need not have.
    """
    hints = function.__annotations__.items()
    function.__annotations__ = {name: Any if hint in (Self, BinaryIO) else hint for name, hint in hints}
    return _beartype(function)
