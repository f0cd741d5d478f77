"""Data classes mean what the standard library's mean: the same class, made by both, in all uses."""

import copy
import dataclasses
import inspect
import pickle
import types
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox import data_classes
from tests.cases import refuses

FIELD_OPTIONS = st.fixed_dictionaries(
    {
        "init": st.booleans(),
        "repr": st.booleans(),
        "compare": st.booleans(),
        "hash": st.sampled_from([None, True, False]),
        "kw_only": st.booleans(),
        "start": st.sampled_from(["nothing", "default", "factory"]),
    }
)

CLASSES = st.fixed_dictionaries(
    {
        "frozen": st.booleans(),
        "eq": st.booleans(),
        "own": st.sampled_from([(), ("__eq__",), ("__hash__",), ("__eq__", "__hash__")]),
        "fields": st.lists(FIELD_OPTIONS, max_size=4),
        "more": st.none() | st.lists(FIELD_OPTIONS, max_size=2),
    }
)

OWN_METHODS: dict[str, Any] = {
    "__eq__": lambda self, other: "own equality",
    "__hash__": lambda self: 77,
}


def define(library: Any, said: dict[str, Any]) -> type[Any]:
    """Define a class with one of the two libraries; with a subclass if `more` fields are said."""
    options = {"frozen": said["frozen"], "eq": said["eq"]}

    def body(fields: list[dict[str, Any]], first: int) -> dict[str, Any]:
        space: dict[str, Any] = {"__annotations__": {}, "__module__": __name__}
        for number, options in enumerate(fields, first):
            name, words = f"f{number}", dict(options)
            start = words.pop("start")
            if start == "default":
                words["default"] = f"default of {name}"
            elif start == "factory" or not words["init"]:
                words["default_factory"] = lambda name=name: f"made for {name}"
            space["__annotations__"][name] = "str"
            space[name] = library.field(**words)
        return space

    def make(name: str, base: type[Any] | None, space: dict[str, Any]) -> type[Any]:
        if library is dataclasses:
            made = type(name, () if base is None else (base,), space)
            return dataclasses.dataclass(slots=True, **options)(made)
        return types.new_class(
            name, (base or data_classes.Record,), options, lambda s: s.update(space)
        )

    space = body(said["fields"], 0)
    space["__annotations__"]["shared"] = "ClassVar[str]"
    space["shared"] = "of the class"
    space |= {name: OWN_METHODS[name] for name in said["own"]}
    cls = make("Example", None, space)
    if said["more"] is not None:
        cls = make("More", cls, body(said["more"], len(said["fields"])))
    return cls


def outcome(action: Any) -> Any:
    """What an action gives, or the kind of its failure."""
    try:
        return action()
    except (TypeError, AttributeError, ValueError) as error:
        return next(k for k in (TypeError, AttributeError, ValueError) if isinstance(error, k))


def replaced(replace: Any, one: Any, name: str) -> str:
    """A copy with one field changed, or that it is refused: how so depends on Python's version."""
    try:
        return repr(replace(one, **{name: "z"}))
    except (TypeError, ValueError):
        return "refused"


def behaviour(cls: type[Any], replace: Any) -> list[Any]:
    """Everything that can be seen of a class and of a few of its objects."""
    signature = inspect.signature(cls)
    shape = [(p.name, p.kind, p.default is p.empty) for p in signature.parameters.values()]
    place = [p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    words = [p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
    seen: list[Any] = [
        shape, cls.__match_args__, cls.__slots__, cls.shared, cls.__qualname__, cls.__module__,
        [(f.name, f.type, f.init, f.repr, f.compare, f.kw_only) for f in dataclasses.fields(cls)],
    ]  # fmt: skip
    by_identity = cls.__hash__ is object.__hash__
    objects = [cls(*(letter * len(place)), **dict.fromkeys(words, letter)) for letter in "aab"]
    for one in objects:
        names = [f.name for f in dataclasses.fields(one)]
        seen += [
            repr(one),
            [getattr(one, name) for name in names],
            "identity" if by_identity else outcome(lambda o=one: hash(o)),
            dataclasses.asdict(one),
            [outcome(lambda o=one, n=n: setattr(copy.copy(o), n, 1)) for n in names],
            [outcome(lambda o=one, n=n: delattr(copy.copy(o), n)) for n in names],
            [replaced(replace, one, n) for n in [*names, "new"]],
            repr(copy.deepcopy(one)),
        ]
    seen += [outcome(lambda: cls("too", "many", "words", "for", "it", "all", "yes"))]
    seen += [(one == two, one != two) for one, two in product(objects, objects)]
    seen += [objects[0] == "something else"]
    return seen


@given(CLASSES)
def test_a_class_means_the_same(said) -> None:
    found = define(data_classes, said)
    try:
        wanted = define(dataclasses, said)
    except TypeError:  # a field without a value after one with a default
        refuses(SyntaxError, None, inspect.signature, found)
        return
    expected = behaviour(wanted, dataclasses.replace)
    assert behaviour(found, data_classes.replace) == expected
    assert behaviour(found, dataclasses.replace) == expected


class Point(data_classes.Record):
    """A place."""

    x: int
    y: int = 2
    weight: float = data_classes.field(default=1.0, compare=False)
    unit: ClassVar[str] = "m"

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("left of everything")


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_objects_travel(protocol) -> None:
    point = Point(1, weight=3.0)
    arrived = pickle.loads(pickle.dumps(point, protocol))
    assert (arrived, arrived.weight, type(arrived)) == (point, 3.0, Point)


def test_methods_are_compiled_when_they_are_first_used() -> None:
    made = define(data_classes, {"frozen": True, "eq": True, "own": (), "fields": [], "more": None})
    assert not any(callable(vars(made)[name]) for name in ("__init__", "__eq__", "__hash__"))
    assert made() == made() and hash(made()) == hash(made())
    assert all(callable(vars(made)[name]) for name in ("__init__", "__eq__", "__hash__"))


def test_an_object_checks_itself_and_matches() -> None:
    refuses(ValueError, "left of everything", Point, -1)
    match Point(5):
        case Point(x, y):
            assert (x, y, Point.unit, Point.__doc__) == (5, 2, "m", "A place.")
    with pytest.raises(ValueError, match="default_factory"):

        class Shared(data_classes.Record, frozen=False):
            items: list[int] = data_classes.field(default=[])


def test_the_package_has_no_others() -> None:
    """Whoever imports the standard library's pays for its loading and for all methods."""
    package = Path(data_classes.__file__).parent
    others = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "\nfrom dataclasses import" in path.read_text(encoding="utf-8")
        # The kernel knows nothing of the package.
        and path.parent.name != "kernel"
    }
    assert others == {
        "experiments/sweep/spec.py",  # cached properties exclude slots
        "language/functions/files.py",  # data classes of users' functions are Python's
        "language/functions/objects.py",
        "language/functions/operators.py",
    }
