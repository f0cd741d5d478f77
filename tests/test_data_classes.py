"""Records mean what the standard library's data classes do, in all options that they have."""

import copy
import dataclasses
import pickle
import types
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox import data_classes, errors
from dipapprox.linear.form import LinearForm
from dipapprox.source import Diagnostic, SourceFile, Span
from tests.cases import refuses

FIELD_OPTIONS = st.fixed_dictionaries(
    {
        "repr": st.booleans(),
        "compare": st.booleans(),
        "hash": st.booleans(),
        "start": st.sampled_from(["nothing", "default", "factory"]),
    }
)

CLASSES = st.fixed_dictionaries(
    {
        "frozen": st.booleans(),
        "eq": st.booleans(),
        "kw_only": st.booleans(),
        "own": st.sampled_from([(), ("__eq__", "__hash__")]),
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
    options = {name: said[name] for name in ("frozen", "eq", "kw_only")}

    def body(fields: list[dict[str, Any]], first: int) -> dict[str, Any]:
        space: dict[str, Any] = {"__annotations__": {}, "__module__": __name__}
        for number, words in enumerate(fields, first):
            name = f"f{number}"
            words = {**words, "hash": words["hash"] and words["compare"]}
            start = words.pop("start")
            if start == "default":
                words["default"] = f"default of {name}"
            elif start == "factory":
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


def behaviour(cls: type[Any], names: list[str], replace: Any) -> list[Any]:
    """Everything that can be seen of a class and of a few of its objects."""
    seen: list[Any] = [cls.__match_args__, cls.shared, cls.__qualname__, cls.__module__]
    objects = [cls(**dict.fromkeys(names, letter)) for letter in "aab"]
    for one in [*objects, outcome(cls)]:
        if isinstance(one, type):
            seen.append(one)
            continue
        seen += [
            repr(one),
            [getattr(one, name) for name in names],
            outcome(lambda o=one: hash(o) == object.__hash__(o)),
            [outcome(lambda o=one, n=n: setattr(copy.copy(o), n, 1)) for n in names],
            [repr(replace(one, **{n: "z"})) for n in names],
            outcome(lambda o=one: replace(o, new=1)),
            repr(copy.deepcopy(one)),
        ]
    seen += [outcome(lambda: cls("too", "many", "words", "for", "it", "all", "yes"))]
    seen += [(one == two, one != two) for one, two in product(objects, objects)]
    seen += [outcome(lambda: [hash(one) == hash(two) for one, two in product(objects, objects)])]
    seen += [outcome(lambda: hash(objects[0]) == 77)]
    seen += [objects[0] == "something else"]
    return seen


@given(CLASSES)
def test_a_class_means_the_same(said) -> None:
    try:
        wanted = define(dataclasses, said)
    except TypeError:  # a field without a value after one with a default
        refuses(TypeError, "Required field", define, data_classes, said)
        return
    names = [each.name for each in dataclasses.fields(wanted)]
    expected = behaviour(wanted, names, dataclasses.replace)
    assert behaviour(define(data_classes, said), names, data_classes.replace) == expected


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
    point, form = Point(1, weight=3.0), LinearForm.symbol("q")
    hash(form)  # which is kept, and other processes find otherwise
    arrived, other = pickle.loads(pickle.dumps((point, form), protocol))
    assert (arrived, arrived.weight, type(arrived)) == (point, 3.0, Point)
    assert other == form and hash(other) == hash(LinearForm.symbol("q"))


ERRORS = (
    errors.UserError("a", "b"),
    errors.NoTruth("an answer", "ask"),
    errors.NoCertificate("a proof"),
    errors.SourceError([Diagnostic("error", "a", Span(SourceFile("f", "text"), 0, 2))]),
    errors.QuestionRefused([Diagnostic("error", "a", None)]),
    errors.UnsoundArithmetic("a"),
    errors.LimitReached("a"),
    errors.BrokenInvariant("a"),
    errors.Contradiction("a sum", ("0", ""), ("1", "another")),
)


def test_errors_travel() -> None:
    kinds = {each for each in vars(errors).values() if isinstance(each, type)}
    assert {each for each in kinds if issubclass(each, Exception)} == set(map(type, ERRORS))
    for error in ERRORS:
        other = pickle.loads(pickle.dumps(error))
        assert (type(other), str(other), vars(other)) == (type(error), str(error), vars(error))


def test_an_object_checks_itself_and_matches() -> None:
    refuses(ValueError, "left of everything", Point, -1)
    refuses(ValueError, "left of everything", data_classes.replace, Point(1), x=-1)
    match Point(5):
        case Point(x, y):
            assert (x, y, Point.unit, Point.__doc__) == (5, 2, "m", "A place.")
    assert repr(Point(10**5000)) == "Point(x=<int>, y=2, weight=1.0)"


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
