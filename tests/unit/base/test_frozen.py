"""Frozen dataclasses of ours against Python's own."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from typing import Any

import pytest

from astra_ns3.frozen import dataclass, field

HOW = [{}, {"eq": False}, {"kw_only": True}]


class Body:
    """What both kinds are made of."""

    first: int
    second: str = "two"
    hidden: float = field(default=0.5, repr=False, compare=False)
    many: list[int] = field(default_factory=list, hash=False, compare=False)
    fixed: int = field(default=7, init=False)


def kinds(how: dict[str, bool]) -> tuple[Any, Any]:
    """Ours and Python's."""
    body = {name: value for name, value in vars(Body).items() if name not in ("__dict__", "__weakref__")}
    ours, theirs = (type("Both", (), {name: copy.copy(value) for name, value in body.items()}) for _ in range(2))
    return dataclass(frozen=True, **how)(ours), dataclasses.dataclass(frozen=True, **how)(theirs)


@pytest.mark.parametrize("how", HOW)
def test_a_class_has_the_fields_defaults_and_signature_of_pythons_own(how: dict[str, bool]) -> None:
    ours, theirs = kinds(how)
    assert [one.name for one in dataclasses.fields(ours)] == [one.name for one in dataclasses.fields(theirs)]
    assert [
        (name, one.kind, one.default is inspect.Parameter.empty)
        for name, one in inspect.signature(ours).parameters.items()
    ] == [
        (name, one.kind, one.default is inspect.Parameter.empty)
        for name, one in inspect.signature(theirs).parameters.items()
    ]
    for words in ({"first": 1}, {"first": 1, "second": "b", "hidden": 2.0, "many": [3]}):
        mine, other = ours(**words), theirs(**words)
        assert repr(mine) == repr(other)
        assert dataclasses.asdict(mine) == dataclasses.asdict(other)
        assert dataclasses.asdict(dataclasses.replace(mine, first=9)) == {**dataclasses.asdict(other), "first": 9}


@pytest.mark.parametrize("how", HOW)
def test_instances_are_compared_and_hashed_as_pythons_own(how: dict[str, bool]) -> None:
    ours, theirs = kinds(how)
    for words in ({"first": 1, "hidden": 3.0}, {"first": 2}, {"first": 1, "second": "three"}):
        mine, other = (kind(first=1) == kind(**words) for kind in (ours, theirs))
        assert mine == other
        if how.get("eq", True):
            assert hash(ours(**words)) == hash(theirs(**words))
    assert ours(first=1) != theirs(first=1)
    assert ours(first=1).many is not ours(first=1).many


def test_nothing_of_an_instance_can_be_set_or_deleted() -> None:
    ours, _ = kinds({})
    instance = ours(1)
    for name in ("first", "new"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(instance, name, 2)
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot delete field '{name}'"):
            delattr(instance, name)
    assert instance.first == 1


@dataclass(frozen=True)
class Base:
    """A class with its own hash."""

    number: int

    def __hash__(self) -> int:
        return 5


@dataclass(frozen=True)
class Checked:
    """Has a check."""

    word: str = "a"

    def __post_init__(self) -> None:
        if not self.word:
            raise ValueError("no word")


@dataclasses.dataclass(frozen=True)
class Theirs(Base):
    """Python's own, as a user's class may be."""

    word: str = "a"


@dataclass(frozen=True)
class Derived(Base):
    """One more field."""

    word: str = "a"


class Plain(Checked):
    """No dataclass itself, so it may have attributes of its own."""


def test_a_derived_class_has_all_fields_checks_itself_and_travels() -> None:
    for kind in (Derived, Theirs):
        assert repr(kind(1, "b")) == f"{kind.__name__}(number=1, word='b')"
    instance = Derived(1, "b")
    assert pickle.loads(pickle.dumps(instance)) == copy.copy(instance) == instance
    assert hash(Base(3)) == 5
    with pytest.raises(ValueError, match="no word"):
        Checked("")
    plain: Any = Plain("b")
    plain.own = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        plain.word = "c"
