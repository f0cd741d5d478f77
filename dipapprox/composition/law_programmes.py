"""Laws on places of a grid with the greatest mean of H: linear programmes, many at a time.

In: H, and functions whose means are given or bounded, at places. Out: factors of these whose sum is
above H, guessed in doubles: any factors are used for what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

_AROUND = 4  # places from x_2 to those of a law to begin with
_PIVOTS, _CLOSE, _NOTHING = 24, 2.0**-17, 1e-12
_WIDE, _JUMP = 12, 1.5  # places on either side, levels
_USABLE = 1e40  # of functions: where they are greater a law has nothing


def best_factors(
    values: Doubles,
    ratios: Doubles,
    columns: Sequence[Doubles],
    costs: Sequence[Doubles],
    near: Integers,
) -> Doubles:
    """Guess A, C_1 and C_2 of each row for which (3) in `stated_runs` is least.

    By the simplex method, of the programme that is dual: weights >= 0 of places with the sum 1, and
    the sum 1 of z; of each W at most D. It starts at those of x_1, x_2 and α.

    Args:
        values: H, rows by places.
        ratios: z, of places.
        columns: Both W, rows by places.
        costs: Both D, of rows.
        near: The places of x_1 and x_2, of rows.
    """
    rows, count = values.shape
    every = np.zeros((rows, 4, count + 2))
    every[:, 0, :count], every[:, 1, :count] = 1.0, ratios
    for k, function in enumerate(columns):
        every[:, 2 + k, :count], every[:, 2 + k, count + k] = function, 1.0
    worth = np.concatenate([values, np.zeros((rows, 2))], axis=1)
    worth[:, :count][np.maximum(*columns) > _USABLE] = -np.inf
    wanted = np.stack([np.ones(rows), np.ones(rows), *costs], axis=1)
    # A violation counts as much as the place may weigh.
    shares = 1 / np.maximum(every / wanted[..., None], 0).max(axis=1)
    lines: Integers = np.arange(rows)
    basis = _first_laws(every, ratios, wanted, near)
    best, least = np.zeros((rows, 4)), np.full(rows, np.inf)
    for _ in range(_PIVOTS):
        own = basis[lines]
        matrix = every[lines[:, None], :, own]  # a row for each column
        try:
            factors = np.linalg.solve(matrix, worth[lines[:, None], own][..., None])[..., 0]
            excess = worth[lines] - (factors[:, None] @ every[lines])[:, 0]
            entering = (excess * shares[lines]).argmax(axis=1)
            sides = np.stack([wanted[lines], every[lines, :, entering]], axis=2)
            weights, change = np.moveaxis(np.linalg.solve(matrix.swapaxes(1, 2), sides), 2, 0)
        except np.linalg.LinAlgError:
            break
        value, most = (factors * wanted[lines]).sum(axis=1), excess.max(axis=1)
        better = value + most < least[lines]
        best[lines[better]], least[lines[better]] = factors[better], (value + most)[better]
        falls = change > _NOTHING
        ratio = np.where(falls, np.maximum(weights, 0) / np.where(falls, change, 1.0), np.inf)
        basis[lines, ratio.argmin(axis=1)] = entering
        lines = lines[most > _CLOSE * np.abs(value)]
        if not len(lines):
            break
    return best[:, 1:].T


def smoothed(levels: Integers) -> Integers:
    """Means of levels around, but for the least and the greatest ones; medians where these jump.

    Laws next to the best one have nearly as much, and other orders bind.
    """
    around = np.lib.stride_tricks.sliding_window_view(np.pad(levels, _WIDE, "edge"), 2 * _WIDE + 1)
    kept = np.sort(around, axis=1)[:, _WIDE // 2 : -(_WIDE // 2)]
    mean, median = kept.mean(axis=1), kept[:, kept.shape[1] // 2]
    return np.rint(np.where(np.abs(mean - median) < _JUMP, mean, median)).astype(np.int64)


def _first_laws(every: Doubles, ratios: Doubles, wanted: Doubles, near: Integers) -> Integers:
    """Four columns of each row: x_1, places around x_2, and what one W is below D; or x_1, α, x_2.

    Args:
        every: Columns, and two for what W are below D.
        wanted: Their sums.
    """
    lines, count = np.arange(len(wanted)), len(ratios)
    middle = int(np.argmin(np.abs(ratios - 1)))
    low, high = np.minimum(near[:, 0], middle - 1), np.maximum(near[:, 1], middle + 1)
    share = ((ratios[high] - 1) / (ratios[high] - ratios[low]))[:, None]
    sums = share * every[lines, 2:, low] + (1 - share) * every[lines, 2:, high]
    most = wanted[:, 2:] / sums
    bound = most.argmin(axis=1)
    found = np.stack([low, np.full_like(low, middle), high, count + 1 - bound], axis=1)
    loose = most.min(axis=1) >= 1
    found[loose, 1] = count + bound[loose]
    about = np.maximum(high - _AROUND, low + 1), np.minimum(high + _AROUND, count - 2)
    close = np.stack([low, *about, count + 1 - bound], axis=1)
    with suppress(np.linalg.LinAlgError):
        matrix = every[lines[:, None], :, close].swapaxes(1, 2)
        kept = np.linalg.solve(matrix, wanted[..., None]).min(axis=(1, 2)) >= 0
        found[kept] = close[kept]
    return found
