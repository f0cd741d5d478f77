from typing import Annotated

from dipapprox import Quantity, Weight, gauss, mechanism


@mechanism(adjacent="linf 1")
def svt(
    q: Annotated[list[Quantity], "[N] in {0, 1}"], eps: Weight, N: int = 2, T: int = 0
) -> Annotated[list[int], "[N] in {0, 1}"]:
    threshold = gauss(T, 2 / eps)
    for i in range(N):
        noisy = gauss(q[i], 4 / eps)
        if noisy >= threshold:
            return [0] * i + [1] + [0] * (N - i - 1)
    return [0] * N
