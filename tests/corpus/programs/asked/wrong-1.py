from typing import Annotated

from dipapprox import Quantity, Weight, laplace, mechanism


@mechanism(adjacent="linf 1")
def correlated(q: Annotated[Quantity, "in {0, 1}"], eps: Weight) -> Annotated[int, "in {0, 1}"]:
    first, second = laplace(q, 1 / eps), laplace(q, 1 / eps)
    return 1 if first * second > 0 else 0
