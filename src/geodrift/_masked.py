"""Arrays that hide some of their entries (`numpy.ma`): what converts them uncovers what is hidden."""

from typing import Any

import numpy as np

from geodrift._errors import InputError


def unmasked(name: str, values: Any, advice: str) -> Any:
    """What was given, without its mask where that hides nothing.

    Args:
        name: What the values are called in the error message.
        values: An array, or anything else, which is returned as it is.
        advice: What to do about hidden entries.

    Raises:
        InputError: Entries are hidden: they would be used as if they had been seen.
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    hidden = int(np.ma.count_masked(values))
    if hidden:
        raise InputError(f"{name}: a masked array that hides {hidden:,} of {values.size:,} values: {advice}")
    return np.ma.getdata(values)
