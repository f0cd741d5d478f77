# mypy: ignore-errors
# ruff: noqa
"""What Python's own functions and methods do, in Python: read by the evaluator, and never run.

A class stands for a module or a type. `...` as a body is Python's own function, or one of ours,
which is called with known values; the annotation of an argument says how it is taken
(`natives.TAKEN`). Every other body is evaluated like a function of the user's, at the place of the
call.
"""


class builtins:
    def abs(value, /):
        value = +value
        return value if value >= 0 else -value

    def bool(value: truth = False, /): ...
    def int(value: numeral = 0, /, *base: whole): ...
    def float(value: infinity, /): ...
    def str(value="", /): ...
    def list(values: listed = (), /): ...
    def tuple(values: listed = (), /): ...
    def set(values: keys = (), /): ...
    def dict(values=(), /, **named):
        found = {}
        found.update(values, **named)
        return found

    class dict:
        def fromkeys(keys, value=None, /):
            return {key: value for key in keys}

    def isinstance(value, kinds, /): ...
    def len(value: sized, /): ...
    def iter(values: items, /): ...
    def next(values: stream, /, *default):
        for found in values:
            return found
        if default:
            return default[0]
        raise StopIteration

    def sorted(values, /, *, key=None, reverse=False): ...
    def range(*ends: whole): ...
    def round(number: number, ndigits: end = None): ...
    def divmod(left: number, right: number, /): ...
    def pow(base, exp, mod=None):
        return base**exp if mod is None else hidden.pow(base, exp, mod)

    def ord(character: text, /): ...
    def chr(code: whole, /): ...
    def reversed(values: sequence, /): ...
    def enumerate(iterable: items, start: whole = 0): ...
    def zip(*values: items, strict: truth = False): ...
    def map(function: called, first: items, /, *others: items): ...
    def filter(function: test, values: items, /): ...
    def any(values: truths, /): ...
    def all(values: truths, /): ...
    def sum(values: listed, /, start: summand = 0):
        for each in values:
            start = start + each
        return start

    def max(first, /, *others, key=None, default=missing): ...

    min = max


class hidden:
    def pow(base: whole, exponent: whole, modulus: whole, /): ...
    def bisect(a, lo, hi, before, /):
        if lo < 0:
            raise ValueError("lo must be non-negative")
        hi = len(a) if hi is None else hi
        while lo < hi:
            middle = (lo + hi) // 2
            if before(a[middle]):
                lo = middle + 1
            else:
                hi = middle
        return lo


class object:
    def __init__(made, /, *given): ...


class list:
    def append(self: changed, value, /): ...
    def extend(self: changed, values, /): ...
    def insert(self: changed, at: whole, value, /): ...
    def reverse(self: changed, /): ...
    def copy(self, /): ...
    def clear(self: changed, /): ...
    def sort(self: changed, /, *, key=None, reverse=False): ...
    def pop(self: changed, at: whole = -1, /): ...
    def remove(self: changed, value, /):
        del self[self.index(value)]

    def index(self, value, start: end = 0, stop: end = None, /):
        for place in range(len(self))[start:stop]:
            if value in (self[place],):
                return place
        raise ValueError("the value is not in the list")

    def count(self, value, /):
        return sum([value in (each,) for each in self])


class tuple:
    index = list.index
    count = list.count


class dict:
    def get(self, name: key, default=None, /): ...
    def keys(self, /): ...
    def values(self, /): ...
    def items(self, /): ...
    def copy(self, /): ...
    def clear(self: changed, /): ...
    def pop(self: changed, name: key, /, *default): ...
    def popitem(self: changed, /): ...
    def setdefault(self: changed, name: key, value=None, /): ...
    def update(self: changed, more=(), /, **named):
        for name, value in more.items() if isinstance(more, dict) else more:
            self[name] = value
        for name, value in named.items():
            self[name] = value


class set:
    def add(self: changed, value: key, /): ...
    def discard(self: changed, value: key, /): ...
    def remove(self: changed, value: key, /): ...
    def copy(self, /): ...
    def clear(self: changed, /): ...
    def union(self, /, *others: keys): ...
    def intersection(self, /, *others: keys): ...
    def difference(self, /, *others: keys): ...
    def symmetric_difference(self, other: keys, /): ...
    def isdisjoint(self, other: keys, /): ...
    def issubset(self, other: keys, /): ...
    def issuperset(self, other: keys, /): ...
    def update(self: changed, /, *others): ...
    def intersection_update(self: changed, /, *others: keys): ...
    def difference_update(self: changed, /, *others: keys): ...


class str:
    def upper(self, /, *given: text): ...

    lower = title = capitalize = strip = lstrip = rstrip = split = splitlines = upper
    startswith = endswith = removeprefix = removesuffix = find = count = index = upper
    isdigit = isalpha = isupper = islower = zfill = ljust = rjust = center = upper
    isalnum = rfind = rsplit = partition = swapcase = upper

    def join(self, values: listed, /): ...
    def replace(self, old, new, count: whole = -1, /): ...


class int:
    def bit_length(self, /): ...


class Fraction:
    def limit_denominator(self, /, max_denominator: whole = 1000000): ...


class math:
    def floor(value: number, /): ...
    def ceil(value: number, /): ...
    def trunc(value: number, /): ...
    def factorial(value: small, /): ...
    def comb(n: small, k: small, /): ...
    def perm(n: small, k: end = None, /): ...
    def gcd(*values: whole): ...
    def lcm(*values: whole): ...
    def isqrt(value: whole, /): ...
    def isinf(value, /):
        return value == math.inf or value == -math.inf

    def prod(values: listed, /, *, start=1):
        for each in values:
            start = start * each
        return start

    def sqrt(value, /):
        return dipapprox.sqrt(value)

    def exp(value, /):
        return dipapprox.exp(value)

    def log(value, base=None, /):
        found = dipapprox.log(value)
        return found if base is None else found / dipapprox.log(base)

    def log2(value, /):
        return math.log(value, 2)

    def log10(value, /):
        return math.log(value, 10)


class itertools:
    def chain(*values: items): ...

    class chain:
        def from_iterable(values: streams, /): ...

    def pairwise(values: items, /): ...
    def combinations(iterable: listed, r: small): ...
    def combinations_with_replacement(iterable: listed, r: small): ...
    def permutations(iterable: listed, r: end = None): ...
    def product(*values: listed, repeat: small = 1): ...
    def islice(values: items, /, *ends: bound): ...
    def count(start: number = 0, step: number = 1): ...
    def cycle(values: items, /): ...
    def repeat(object, times=None):
        return itertools.cycle([object]) if times is None else iter([object] * times)

    def zip_longest(*values: items, fillvalue=None): ...
    def accumulate(iterable: items, func: joining = None, *, initial=None): ...
    def compress(data, selectors):
        return (each for each, taken in zip(data, selectors) if taken)

    def filterfalse(function: test, values: items, /): ...
    def takewhile(function: test, values: items, /): ...
    def dropwhile(function: test, values: items, /): ...
    def starmap(function: called, values: streams, /): ...


class functools:
    def reduce(function, values, first=missing, /):
        found = first
        for each in values:
            found = each if found is missing else function(found, each)
        if found is missing:
            raise TypeError("reduce() of empty iterable with no initial value")
        return found

    def partial(function, /, *placed, **named):
        return lambda *more, **others: function(*placed, *more, **{**named, **others})


class heapq:
    def heappush(heap: heap, item: ranked, /): ...
    def heappop(heap: heap, /): ...
    def heapify(heap: heap, /): ...
    def heappushpop(heap: heap, item: ranked, /): ...
    def heapreplace(heap: heap, item: ranked, /): ...
    def nlargest(n: whole, iterable, key=None):
        return sorted(iterable, key=key, reverse=True)[: max(n, 0)]

    def nsmallest(n: whole, iterable, key=None):
        return sorted(iterable, key=key)[: max(n, 0)]


class bisect:
    def bisect_left(a, x, lo: whole = 0, hi: end = None, *, key=None):
        return hidden.bisect(a, lo, hi, lambda each: (each if key is None else key(each)) < x)

    def bisect_right(a, x, lo: whole = 0, hi: end = None, *, key=None):
        return hidden.bisect(a, lo, hi, lambda each: not x < (each if key is None else key(each)))

    def insort_left(a, x, lo=0, hi=None, *, key=None):
        mark = x if key is None else key(x)
        a.insert(bisect.bisect_left(a, mark, lo, hi, key=key), x)

    def insort_right(a, x, lo=0, hi=None, *, key=None):
        mark = x if key is None else key(x)
        a.insert(bisect.bisect_right(a, mark, lo, hi, key=key), x)

    bisect = bisect_right
    insort = insort_right


class copy:
    def copy(value, /): ...
    def deepcopy(value, /): ...


class collections:
    def namedtuple(typename, field_names): ...


class dataclasses:
    def field(*, default=missing, default_factory=missing): ...
    def replace(of, /, **changes): ...


class enum:
    def auto(): ...


class fractions:
    def Fraction(numerator: rational = 0, denominator: rational = None): ...


class statistics:
    def median(data: some):
        data = sorted(data)
        middle = len(data) // 2
        return data[middle] if len(data) % 2 else (data[middle - 1] + data[middle]) / 2

    def median_low(data: some):
        return sorted(data)[(len(data) - 1) // 2]

    def median_high(data: some):
        return sorted(data)[len(data) // 2]

    def mean(data: some):
        return sum(data) / len(data)

    def mode(data: some):
        return max(data, key=data.count)


class operator:
    add = lambda left, right, /: left + right
    sub = lambda left, right, /: left - right
    mul = lambda left, right, /: left * right
    truediv = lambda left, right, /: left / right
    floordiv = lambda left, right, /: left // right
    mod = lambda left, right, /: left % right
    lt = lambda left, right, /: left < right
    le = lambda left, right, /: left <= right
    gt = lambda left, right, /: left > right
    ge = lambda left, right, /: left >= right
    eq = lambda left, right, /: left == right
    ne = lambda left, right, /: left != right
    neg = lambda value, /: -value
    getitem = lambda value, place, /: value[place]

    def itemgetter(item, /, *items):
        if items:
            return lambda value, /: tuple([value[each] for each in (item, *items)])
        return lambda value, /: value[item]
