"""Protocols of a tape, for modules that must not import `tape.py`: to read a tape, to add ops, to compile it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from wengert.tape.ops import Op, Variable


class AnyTape(Protocol):
    """A tape that can be read: its ops in order, and its result."""

    ctx: Any
    arguments: Any
    _result: Variable | None

    def __iter__(self) -> Iterator[Op]: ...
    def __getitem__(self, which: Variable | int, /) -> Op: ...
    @property
    def result(self) -> Variable: ...
    @property
    def inputs(self) -> list[Variable]: ...
    def _line(self, op: Op, /) -> str: ...


class AnyWritableTape(AnyTape, Protocol):
    """A tape to which ops can be added."""

    def __init__(self, ctx: Any = None) -> None: ...
    @property
    def result(self) -> Variable: ...
    @result.setter
    def result(self, v: Variable | int, /) -> None: ...
    def push(self, op: Op, /) -> Variable: ...
    def append(self, op: Op, /) -> Variable: ...


class AnyRunningTape(AnyWritableTape, Protocol):
    """A tape that can be compiled."""

    def compile(self, name: str = "f", /) -> Callable[..., Any]: ...


class AnyOptimisedTape(AnyRunningTape, Protocol):
    """A tape that passes of the compiler made."""

    exact: bool
    parallel: bool
