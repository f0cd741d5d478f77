"""Long products from short ones, for any algebra that multiplies two functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

F = TypeVar("F")
Product = Callable[[F, F], F]


def power(function: F, exponent: int, product: Product[F]) -> F:
    """Return function ** exponent, exponent >= 1, by repeated squaring.

    Raises:
        ValueError: If the exponent is smaller.
    """
    if exponent < 1:
        raise ValueError(f"exponent must be >= 1, got {exponent}")
    result: F | None = None
    while True:
        if exponent & 1:
            result = function if result is None else product(result, function)
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result
        function = product(function, function)


class SharedProducts(Generic[F]):
    """Multiplies the factors of many products; neighbours that begin alike share that part."""

    def __init__(self, product: Product[F]) -> None:
        self._product = product
        self._before: list[tuple[F, F]] = []  # the latest factors, and the products up to each

    def of(self, products: Sequence[Sequence[F]]) -> Iterator[F]:
        """Yield the product of each, of at least one factor."""
        before = self._before
        for factors in products:
            alike = 0
            while alike < min(len(before), len(factors)) and before[alike][0] is factors[alike]:
                alike += 1
            del before[alike:]
            for factor in factors[alike:]:
                so_far = self._product(before[-1][1], factor) if before else factor
                before.append((factor, so_far))
            yield before[-1][1]
