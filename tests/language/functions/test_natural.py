"""Python as people write it: what is followed does what CPython does, and the rest is refused."""

from pathlib import Path
from textwrap import indent

import pytest

from dipapprox.errors import SourceError
from dipapprox.language.functions.mechanism import read_mechanism
from tests.language.functions.beside import differences

HEAD = """
import bisect, collections, contextlib, copy, dataclasses, decimal, enum, functools, heapq
import itertools, math, operator, statistics, types
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal, NamedTuple
import numpy as np
from dipapprox import *

class Level(enum.IntEnum):
    LOW = 0
    MID = 1
    HIGH = 2

class Colour(enum.Enum):
    RED = 1
    BLUE = 2

class Word(enum.StrEnum):
    LOW = "low"
    HIGH = "high"

@dataclass
class Box:
    v: object
    n: int = 0
    def grow(self, by): self.v, self.n = self.v + by, self.n + 1; return self

@dataclass(frozen=True, order=True)
class Pair:
    a: object
    b: object = 0

class P(NamedTuple):
    x: object
    y: object
    def total(self): return self.x + self.y

@mechanism(adjacent="all")
def f(
    q: Annotated[list[Quantity], "[3] in 0..2"], k: Annotated[Quantity, "in 0..3"], on: bool,
    w: Literal["low", "high"], eps: Weight, N: int = 3,
) -> Annotated[int, "in -99..99"]:
"""

NATURAL = [
    "return np.argmax(q) * 10 + np.argmin([k, 1, 2])",
    "return np.argmax([laplace(x, 1) for x in q])",
    "return np.sum(q) + np.max(q) - np.min([k, 1]) + np.sum([x > 0 for x in q])",
    "a = np.cumsum(q)\nreturn a[-1] * 9 + len(a) + sum(a[1:]) + (k in a)",
    "x, *more = np.sort(q)[::-1]\nreturn x * 9 + more[1] + list(np.sort(q))[k % 3]",
    "return np.where([k > 1], 5, [q[0]])[0] + np.sum(np.where([x > 0 for x in q], 7, [1, k, 3]))",
    "return np.clip(k, 1, 2) + 9 * np.sum(np.clip(q, 0, 1)) + np.clip(5, a_min=0, a_max=3)",
    ("b = Box(k)\nb.grow(1).grow(q[0])\nreturn b.v + b.n"),
    "return 1 if k >= Level.MID else 0",
    ("fs = [lambda x: x + i for i in range(3)]\nreturn fs[0](q[0])"),
    "return sum(1 for a, b in itertools.combinations(q, 2) if a == b)",
    "return sum(a for a, b in itertools.zip_longest(q, [1], fillvalue=0))",
    ("d = {i: x for i, x in enumerate(q)}\nreturn sum(d.values()) + d.get(5, 1)"),
    ("try:\n    return 6 // k\nexcept ZeroDivisionError:\n    return -1"),
    (
        "match (q[0], q[1]):\n"
        "    case (0, 0): return 0\n"
        "    case (x, 1): return x\n"
        "    case (1, y): return y\n"
        "return 9"
    ),
    "return sorted(range(3), key=lambda i: q[i])[0]",
    "return q.count(0) * 2 + q.count(k)",
    "return k // 2 * 2 + k % 2",
    (
        "try:\n"
        "    return sum(a for a, b in zip(q, [1, 2], strict=True))\n"
        "except ValueError:\n"
        "    return k"
    ),
    "return int(on) + 2 * (not on)",
    "return 1 if on == 1 else 0",
    'return 1 if w == "low" else 2',
    "return 1 if k < math.inf else 0",
    ("v = q[:]\nv.remove(max(v))\nreturn sum(v)"),
    "return 1 if None in q else 0",
    "return sum(range(k))",
    ("r = laplace(k, 1 / eps)\nreturn 1 if r == r else 0"),
    ("x = choose([True, False])\nreturn x + on"),
    ("m = sum(q) / len(q)\nreturn 1 if m > 1 else 0"),
    "return (N > 2) + k",
    "return tuple(q)[0] + tuple(q).count(1)",
    'return len(sorted({"a", "b"})) + k',
    ("try:\n    raise KeyError(k)\nexcept KeyError as e:\n    return e.args[0]"),
    ("q.sort()\nreturn q[0]"),
    ("r = laplace(k, 1 / eps)\nreturn 1 if (r > 0) == 1 else 0"),
    ("r = laplace(k, 1 / eps)\nreturn 1 if r else 0"),
    "return 1 if (k > 1) / Fraction(1, 2) > 1 else 0",
    "return list(itertools.accumulate(q, lambda a, b: 2 * a + b, initial=1))[-1]",
    ('d = {"b": 1, "a": k}\nreturn list(sorted(d.items()))[0][1]'),
    ('a = "abcd"[k]\nreturn ord(a) - 97'),
    ("m = [[x * y for y in q] for x in q]\nreturn sum(m[i][i] for i in range(3))"),
    (
        "best, at = -math.inf, None\n"
        "for i, x in enumerate(q):\n"
        "    if x > best: best, at = x, i\n"
        "return at"
    ),
    ("for x, (y, z) in [(k, (1, 2))]: pass\nreturn x + y * z"),
    "return (k == 0) * 1 + (k == 1) * 2 + (k == 2) * 4",
    "return int(on) // 2",
    "return any([on, 0]) + all([on, 1])",
    "return 1 if not w else 2",
    ("match k:\n    case 0 | 1 as n: return n\n    case n if n == 2: return 5\nreturn 7"),
    "return int(Fraction(9, 2)) + k // Fraction(1, 2)",
    "return (k - 5) // 2 + (k - 5) % 3",
    "return ord(chr(65 + k)) - 65",
    ("s = set()\nfor x in q: s.add(int(x))\nreturn len(s)"),
    ("r = laplace(k, 1 / eps); s = laplace(q[0], 1 / eps)\nreturn (r > s) - (r < s)"),
    ("r = laplace(k, 1 / eps)\nreturn next(i for i in range(9) if r < i or i == 8)"),
    ("d = discrete_laplace(k, 1 / eps)\nreturn min(3, max(0, d)) if -1 < d < 4 else 9"),
    ("c = choose({0: Fraction(1, 4), 1: Fraction(3, 4)})\nreturn [k, 2][c]"),
    ("x = where(True, k, 0) + where(k > 5, 1, 2)\nreturn x"),
    ("s = sum(q) + 1\nreturn 1 if gauss(0, s) > 0 else 0"),
    ("b = Box(k)\nc = copy.copy(b)\nc.v = 9\nreturn b.v"),
    "return sorted(map(Pair, q))[0].a",
    # named by what inputs are
    "return {0: 3, 1: 1, 2: 0, 3: 7}[k]",
    'return {"low": 5, "high": 6}[w] + (w in {"low"}) + (k in {1, 2})',
    "d = {}\nfor x in q: d[x] = d.get(x, 0) + 1\nreturn len(d) * 10 + max(d.values())",
    "s = {x for x in q}\nreturn len(s) + sum(sorted(s))",
    "try:\n    return {1: 4, 2: 5}[k]\nexcept KeyError as e:\n    return e.args[0] - 1",
    "d = {on: 1, not on: 2}\nreturn d[True] * 3 + list(d).index(on)",
    "return choose({k: 1, 3 - k: 0})",
    'd = dict(zip("ab", q), c=k)\nd.update(e=1)\nreturn d.pop("a") + d["c"] + len(d)',
    "return max(range(3), key=q.__getitem__) + dict.fromkeys([1, 2], 2)[1]",
    # of the numbers that inputs are
    "return (k & 1) + (k >> 1) * 3 + (k ^ choose([0, 1])) * 9 + (on << 4 | (k > 1))",
    "try: return (sum(q) / k > 1) + (laplace(0, 1) / k > 1)\n"
    "except ZeroDivisionError: return Fraction(1) / 3",
    # one after the other
    "v = []\ntry: v.extend(1 // x for x in q)\nexcept ZeroDivisionError: pass\nreturn len(v)",
    "v = []\ntry: v += (1 // x for x in q)\nexcept ZeroDivisionError: pass\nreturn len(v)",
    "v = []\nv.extend(len(v) for _ in q)\nv += v\nreturn sum(v) + k",
    "s = {5}\ntry: s.update(s, (6 // x for x in q))\nexcept ZeroDivisionError: pass\nreturn len(s)",
    "n = 0\ndef add(x, y):\n    nonlocal n\n    n += 1\n    return x + 2 * y + n\n"
    "return functools.reduce(add, (x + n for x in q))",
    "seen = []\ndef score(x): seen.append(x); return -x if len(seen) > 1 else x\n"
    "return max((x + len(seen) for x in q), key=score)",
    "try: raise KeyError(1) from q.append(5)\nexcept KeyError: return len(q) + k",
    "try: raise ValueError('bad ' + str(k) + '!')\nexcept ValueError as e: return len(e.args)",
    "return len(Colour) + len(Level) + int('101', 2) + k",
    # cases
    "match q:\n    case [0, *rest]: return sum(rest)\n    case [*_, 1]: return 7\nreturn 9",
    "match P(k, 1):\n    case P(0, y): return y\n    case P(x, y=1) if x > 1: return x\nreturn 8",
    "match (on, k):\n    case (True, 0): return 1\n    case (_, n) if n > 1: return n\nreturn 9",
    'match {"op": "add", "n": k}:\n    case {"op": "sub"}: return 0\n'
    '    case {"op": "add", "n": n}: return n + 1',
    "match N:\n    case bool(): return 1\n    case str(): return 2\n    case int(n): return n",
    "return 1 if (k > 1) is True else 2 if (k > 0) is not False else 3",
    "class M(enum.Enum):\n    A = enum.auto()\n    B = enum.auto()\n"
    "try: return M(k).value + 5 * (M(k) is M.B)\nexcept ValueError: return Level(2)",
    "n = 0\nclass A:\n    n = 10\n    def go(self):\n        nonlocal n\n        n += 1\n"
    "A().go()\nreturn n + k",
    "try: return Fraction(1, k) > Fraction(on, 2)\nexcept ZeroDivisionError: return 7",
    "try: raise KeyError(k)\nexcept KeyError:\n    try:\n        try: raise ValueError(k)\n"
    "        finally: raise\n    except ValueError: return 1\n    except KeyError: return 2",
    "if eps <= 0 or not 0 < eps or eps == 0: raise ValueError\nreturn k + (eps >= -1)",
    "try: return len(str(10**5000))\nexcept ValueError: return k",
    "m = np.max(q)\nreturn m**2 // 2 - m % 3 + sum([m > 1, on]) * abs(-m) + ((m > 1) & (m < 3))",
    "m = np.max([laplace(x, 1) for x in q])\nreturn (not m > 1) + int(m > 0) + (m > k or 2)",
    # tuples with names
    'T = collections.namedtuple("T", "a b")\nt = T(k, b=2)._replace(b=q[0])\na, b = t\n'
    "return a + 3 * b + (t == (a, b))",
    "b = dataclasses.replace(Pair(k, 1), b=2)\nreturn b.a + b.b + (Pair(1, k) < Pair(1, 2))",
    "v = [Pair(x, i) for i, x in enumerate(q)]\nreturn max(v).b + min(v, key=lambda p: p.b).a",
    "@dataclass\nclass C:\n    v: int = 1\n@dataclass\nclass A:\n"
    "    c: C = dataclasses.field(default_factory=C)\n    n: int = dataclasses.field(default=2)\n"
    "a, b = A(), A(n=k)\na.c.v += k\na.more = 3\nd = dataclasses.replace(a, n=4)\n"
    "return a.c.v * 9 + b.c.v + a.n + b.n + d.n + d.c.v",
    "r = [laplace(x, 1) for x in q]\nm = max(r)\n"
    "return [i for i, x in enumerate(r) if x == m][0] + (r[0] == r[0] >= r[0])",
    "return ('ab' * k).rfind('b') + list(reversed(list({1: 2, 3: 4})))[0]",
    # modules
    "return bisect.bisect_left([5, 3, 1], -k, key=lambda x: -x) + bisect.bisect(sorted(q), 1)",
    "return sum(itertools.compress(q, [1, 0, 1])) + sum(itertools.filterfalse(lambda x: x > 1, q))",
    "return statistics.median_low(q[:2]) + statistics.median_high(q[:2]) * 3 + statistics.mode(q)",
    "v = list(enumerate(q))\nat = operator.itemgetter(1, 0)\n"
    "return max(v, key=operator.itemgetter(1))[0] + at(q)[0]",
    "v = [3, 1, 2]\nv[1:] += [k]\nv[0], v[1:2] = v[1], [7, 8]\ndel v[-1], v[0]\nreturn sum(v)",
    # classes
    "try:\n    raise OSError(2, 'no')\nexcept FileNotFoundError as e:\n    return e.errno + k",
    "try:\n    raise StopIteration(k)\nexcept Exception as e:\n    return e.value",
    "class S(enum.IntEnum):\n    A = 1\n    B = 2\n"
    "return S.A + S(2) + S['B'] + sum(S) + (k == S.A) + max(S.A, k)",
    "class A(NamedTuple):\n    x: int\n    y: int = 4\na = A(k)\n"
    "return a.count(4) + a.index(4) + (a == (k, 4)) + isinstance(a, tuple) + (a < (1, 9))",
    "class A:\n    n = 1\n    def __init__(self, v, *m, w=2): self.v, self.w, self.m = v, w, m\n"
    "    @property\n    def all(self): return self.v + self.w + self.n + len(self.m)\n"
    "    @classmethod\n    def make(cls, v): return cls(v)\n"
    "class C(A):\n    n = 5\n    def __init__(self, v): super().__init__(v, 1, w=7)\n"
    "    def __call__(self, x): return super().all * x\n"
    "return C.make(k)(2) + A(1).all + C(q[0]).all",
    "class A:\n    def __init__(self): raise ValueError(k)\n"
    "try: A()\nexcept ValueError as e: return e.args[0]",
    "v = [[k], (1, [2]), {3: [4]}, {5}, Box([6])]\nw = copy.deepcopy(v)\n"
    "w[0].append(1); w[1][1].append(1); w[2][3].append(0); w[3].add(6); w[4].v.append(7)\n"
    "return len(v[0]) + len(v[1][1]) + len(v[2][3]) + len(v[3]) + len(v[4].v) + w[0][0]",
    "class E(Exception):\n    def __init__(self, m): super().__init__(m, m)\nfor x in q:\n"
    "    if laplace(x, 1) > 0:\n        try: raise E(x)\n"
    "        except E as e: return e.args[1] + len(e.args)\nreturn k",
    "y = []\ndef g(a: y.append(1) = 0): pass\nreturn len(y) + k",
    "class A:\n    x: (n := 5) = 3\n    z = n\nreturn A.z + k",
    "x, y = [q[0], (q[1], k)], [on]\nreturn sum(isinstance(v, (list, tuple)) for v in [x, *x, *y])",
]

RETURNING = [
    "v = [0]\nfor x in q:\n    if laplace(x, 1) > 1:\n        v.append(x)\n        v[0] += 5\n"
    "        return sum(v)\n    v.append(1)\nreturn sum(v)",
    "it = iter([1, 2, 3])\nfor x in q:\n    if laplace(x, 1) > 0:\n        return next(it)\n"
    "return next(it)",
    "n = 0\nfor x in q:\n    if laplace(x, 1) > 0:\n        if laplace(k, 1) > 1: break\n"
    "        n += 1\n        return n\n    n += 10\nreturn n",
    "b = Box(k)\nfor x in q:\n    if laplace(x, 1) > x:\n        b.grow(x)\n"
    "        return b.v if k > x else b.n\n    else:\n        b.grow(2)\nreturn b.v",
    "n = 1\ndef more(by):\n    nonlocal n\n    n += by\n    return n\nfor x in q:\n"
    "    if laplace(x, 1) > 0:\n        pass\n    else:\n        return more(2)\n    more(x)\n"
    "return n",
    "d, s = {0: 1}, {0}\nif laplace(k, 1) > 0:\n    d[1], d[0] = k, 7\n    s.add(5)\n"
    "    if k > 1:\n        del d[0]\n        return len(d) + len(s)\n    return sum(d.values())\n"
    "return sum(d.values()) + len(s)",
    "d = {5: 1, 0: 0, 1: 0, 2: 0}\ndel d[5]\nfor b in d:\n    if laplace(b, 1) > k:\n"
    "        d[7] = 1\n        return sum(d.values()) + b\n    d[b] = q.count(b)\n"
    "return d[0] + 4 * d[1] + 16 * d[2]",
    "d = {5: 1, 0: 0, 1: 0, 2: 0}\ndel d[5]\nfor b in d:\n    if laplace(b, 1) > k:\n"
    "        d[7] = d[8] = d[9] = 1\n        del d[7], d[8], d[9]\n        return b\n"
    "    d[b] += 5\nreturn d[0] + 10 * d[1] + 100 * d[2]",
    "d = {0: 0, 1: 0, 2: 0}\nfor b in d:\n    if laplace(b, 1) > k:\n        d[b] += 5\n"
    "        return sum(d.values())\n    d[b] += q[0]\nreturn d[0] + 4 * d[1] + 16 * d[2]",
    "try:\n    if laplace(k, 1) > 0:\n        raise ValueError(3)\n    n = 1\n"
    "except ValueError as error:\n    n = error.args[0]\nfinally:\n    k = k + 1\nreturn n + k",
    "try:\n    if laplace(k, 1) > 0:\n        return k\nfinally:\n    q[0] = 9\nreturn q[0]",
    "n = 0\nfor x in q:\n    if laplace(x, 1) > 0:\n        try:\n            n = 6 // k\n"
    "        except ZeroDivisionError as error:\n            n = -1\n        return n\nreturn n",
]


OUTSIDE = [
    *(
        f"v = np.sort(q)\n{line}\nreturn k"
        for line in (
            "v + v",
            "-v",
            "v == v",
            "v < 3",
            "v[on]",
            "v[True]",
            "v[[0]]",
            "v.sum()",
            "k * v",
            "v[1:] * 2",
            "not v",
            "[1] == v",
            "{v: 1}",
            "v[0] = 1",
            "w = [1]; w += v",
            "v is v",
            "isinstance(v, np.ndarray)",
            "match v:\n    case [a, *b]: k = 9",
        )
    ),
    "return np.sum({1: k})",
    "return np.sum([q, q])",
    "return np.sum(x for x in q)",
    "return int(np.sort([on, True])[0])",
    "return np.cumsum([2**62, 2**62, k])[1]",
    *(
        f"m = np.max(q)\na, b = m > 1, np.min(q) > 0\n{line}\nreturn k"
        for line in (
            "a + b",
            "a * on",
            "-a",
            "a is True",
            "match a:\n    case True: k = 9",
            "sum([b], a)",
            "(a == b) + (k > 1)",
            "{m: 1}",
            "6 // np.min(q)",
            "divmod(6, np.min(q))",
            "m**-1",
            "m << 2",
            "m * 2**40 * 2**40",
            "[0] * m",
            "m == [1]",
        )
    ),
    "return np.where(k > 1, 1, 2)",
    "return np.where(k, 1, 2)",
    "return np.where([on, on], [1, 2, 3], 0)[0]",
    "return np.clip(k, 2, 1)",
    "return np.max(q, 0)",
    "return statistics.mean([1, 3]) + k",
    "return [5, 6, 7, 8][k * Fraction(1)]",
    "return [5, 6, 7, 8][-(k / 1)]",
    "return 1 << Fraction(1) ** k",
    "return len(bytes(int(k)))",
    "return isinstance(Level.MID, Level) + k",
    "return isinstance(f'{k}', str) + k",
    "import signal\nreturn isinstance(signal.SIGINT, int) + k",
    "import signal\nreturn {signal.SIGINT: 5}.get(2, 7) + k",
    "import signal\nmatch signal.SIGINT:\n    case int(): return 1\nreturn k",
    "import threading\nreturn (threading.excepthook is None) + k",
    "import threading\nmatch threading.excepthook:\n    case None: return 1\nreturn k",
    "N = 1\nclass A:\n    N = N\nreturn A.N",
    "@dataclass(slots=True)\nclass A:\n    n: int\na = A(k)\na.m = 1\nreturn a.m",
    "return (f'{math.fabs(3)}' == '3') + (f'{Level.MID!r}' == '1') + k",
    "return (f'{Level.MID!r}' == '1') + k",
    "d = {1: k}\nfor x in d: d[x + 5] = 1\nreturn len(d)",
    "d = {1: k}\nfor x in reversed(d): d[x + 5] = 1\nreturn len(d)",
    'return eval("k + 1")',
    "def g():\n    x = yield k\n    yield x + 1\nh = g()\nnext(h)\nreturn h.send(q[0])",
    "class L:\n    def __getitem__(self, i):\n        return q[i]\nreturn L()[0]",
    "class L:\n    def __eq__(self, o): return True\nreturn 1 if k == L() else 0",
    "class L:\n    def __class_getitem__(cls, i): return k + i\nreturn L[1]",
    "return operator.length_hint(q) + k",
    'return statistics.multimode("aab")[0] == "a" and k',
    "d = deque([k, 1, 2])\nd.appendleft(q[0])\nreturn d.index(k) + d.count(1)",
    "try:\n    raise ValueError(1)\nexcept* ValueError:\n    r = k\nreturn r",
    "return int(2.7) + k",
    "return 1 if eps < 1 else 0",
    "return 1 if eps > 2 * eps or eps == eps else 0",
    "return 1 if laplace(k, 1 / eps) > 10**2000 else 0",
    "return 1 if clamp(laplace(k, 1 / eps), 0, 10**2000) > 1 else 0",
    "try: a, b = q\nexcept ValueError as e: return len(e.args[0])",
    "try: q.index(7)\nexcept ValueError as e: return 'x' in e.args[0]",
    "class A: g = functools.partial(lambda *a: len(a), 1)\nreturn A().g(2)",
    "class C(enum.Enum):\n    A = 1\n    g = len\nreturn len(C)",
    "try: return 1 in Colour\nexcept TypeError: return k",
    "from typing import ClassVar as V\n@dataclass\nclass A:\n    n: V[int] = 5\n    m: int = 1\n"
    "return A(k).m",
    "class A:\n    def __init__(self): self._n = __n\nreturn k",
    "class A:\n    def g(self): return 1\nclass B(A):\n"
    "    def g(self): return (lambda: super().g())()\nreturn B().g()",
    "x = 1\ndef g():\n    if False:\n        global x\n    return x\nreturn g()",
    'return len("x".zfill(k))',
    "with contextlib.suppress(ValueError): return k\nreturn 0",
]


def file_with(body: str) -> str:
    return HEAD + indent(body, "    ") + "\n"


@pytest.mark.parametrize("body", NATURAL)
def test_what_people_write_does_what_python_does(body) -> None:
    assert not list(differences(file_with(body)))


@pytest.mark.parametrize("body", RETURNING)
def test_a_branch_that_returns_changes_nothing_for_the_other(body) -> None:
    assert not list(differences(file_with(body)))


@pytest.mark.parametrize("body", OUTSIDE)
def test_what_is_not_followed_is_refused_at_its_line(body) -> None:
    with pytest.raises(SourceError) as error:
        read_mechanism(Path("f.py"), file_with(body), "f").text()
    assert error.value.render().startswith("f.py:")
