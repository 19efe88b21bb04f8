"""Growing arrays: the one way in which arrays of the columns get longer.

The result is another array than before. So ask for room first, and fetch the array afterwards.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Scalar = TypeVar("Scalar", bound=np.generic)


def grown(array: npt.NDArray[Scalar], size: int, fill: int = 0) -> npt.NDArray[Scalar]:
    """The array if its last axis has at least this size; else a longer copy, at least twice as
    long, filled up with ``fill``.
    """
    now = array.shape[-1]
    if size <= now:
        return array
    longer = np.full((*array.shape[:-1], max(size, 2 * now)), fill, array.dtype)
    longer[..., :now] = array
    return longer
