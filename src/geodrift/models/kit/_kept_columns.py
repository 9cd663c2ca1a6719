"""What an estimator knows of its columns stays where a call is refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

COLUMNS = ("n_features_in_", "feature_names_in_")  # that scikit-learn's checks set, before ours


@contextmanager
def columns_kept(estimator: Any) -> Iterator[None]:
    """Put the estimator's columns back if the block raises: what it has found is of those."""
    own = vars(estimator)
    before = {name: own[name] for name in COLUMNS if name in own}
    try:
        yield
    except BaseException:
        for name in COLUMNS:
            own.pop(name, None)
        own.update(before)
        raise
