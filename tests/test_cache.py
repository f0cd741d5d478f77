"""Bounded memories: what stays, what goes, what it may cost, and threads."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.cache import Cache

keys = st.integers(0, 12)


@given(st.lists(keys, max_size=60), st.integers(1, 12))
def test_values_are_those_of_their_keys_and_within_bounds(asked: list[int], capacity: int) -> None:
    cache: Cache[int, int] = Cache(capacity)
    for key in asked:
        known = cache.get(key)
        assert known in {None, 7 * key + 1}
        assert cache.find(key, lambda key=key: 7 * key + 1) == 7 * key + 1
        assert len(cache) <= capacity + 1


@given(st.lists(keys, min_size=1, max_size=60), st.integers(1, 8))
def test_half_of_what_was_used_last_is_known(asked: list[int], most: int) -> None:
    cache: Cache[int, int] = Cache(2 * most)
    for key in asked:
        cache.find(key, lambda key=key: key + 1)
    last = list(dict.fromkeys(reversed(asked)))[:most]
    assert all(cache.get(key) == key + 1 for key in last)


@given(st.lists(st.tuples(keys, st.integers(1, 9)), max_size=60), st.integers(1, 4))
def test_costs_are_bounded_and_the_last_values_stay(put: list[tuple[int, int]], least: int) -> None:
    cache: Cache[int, str] = Cache(10, len, least=least)
    sizes: dict[int, int] = {}
    for key, size in put:
        sizes.setdefault(key, size)
        cache.put(key, "x" * sizes[key])
        kept = [value for each in sizes if (value := Cache.get(cache, each)) is not None]
        assert len(kept) >= min(least, len(sizes))
        assert len(cache) <= 2 * max(least, 10)


def test_an_expensive_value_is_kept_alone() -> None:
    cache: Cache[str, str] = Cache(4, len)
    cache.put("a", "xx")
    cache.put("b", "x" * 100)
    assert cache.get("b") == "x" * 100
    cache.put("c", "x" * 100)
    cache.put("d", "x" * 100)
    assert cache.get("b") is None
    cache.clear()
    assert cache.get("d") is None and len(cache) == 0


@pytest.mark.usefixtures("eager")
def test_threads_share_one() -> None:
    cache: Cache[int, int] = Cache(8)
    made = count()

    def make(key: int) -> int:
        next(made)
        return key + 1

    def use(start: int) -> bool:
        wanted = ((start * k) % 11 for k in range(500))
        return all(cache.find(key, lambda key=key: make(key)) == key + 1 for key in wanted)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(1, 9)))
    assert len(cache) <= 9
    assert next(made) < 8 * 500
