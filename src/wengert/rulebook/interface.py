"""What the modules that call a rule and print it need of it, so that they need not import `rule`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from wengert.rulebook.bodies import RuleBody, Variant

Args = tuple[Any, ...]


class AnyArgumentPlan(Protocol):
    """How the arguments of a call are bound to a rule's parameters."""

    static: tuple[str, ...]

    def bind(self, args: Args, kwargs: Mapping[str, Any] | None = None, /) -> tuple[Args, dict[str, Any]]: ...


class AnyPushforward(Protocol):
    """How a rule pushes tangents."""

    @property
    def kind(self) -> str: ...
    @property
    def action(self) -> Callable[..., Any]: ...
    @property
    def args(self) -> tuple[int, ...] | None: ...
    @property
    def without(self) -> tuple[str, ...]: ...
    @property
    def broadcasts(self) -> bool: ...


class AnyRule(Protocol):
    """A `Rule`, as the modules see it through which it calls itself and prints itself."""

    name: str
    kind: str
    body: Callable[..., Any] | None
    where: str
    targets: tuple[Callable[..., Any], ...]
    broadcasts: bool
    sequence: int | None
    names: dict[str, str]
    analysis: RuleBody | None

    @property
    def primitive(self) -> str: ...
    @property
    def accumulators(self) -> Mapping[int, Any]: ...
    def normalise(self, args: Args, kwargs: Mapping[str, Any] | None, /) -> tuple[Args, dict[str, Any]]: ...
    def plan(self, nargs: int, kwnames: tuple[str, ...] = ..., /) -> AnyArgumentPlan: ...
    @property
    def forward(self) -> AnyPushforward | None: ...
    def variant(self, wanted: tuple[bool, ...], /) -> Variant: ...
    def pushing(self, wanted: tuple[bool, ...], /) -> Callable[..., Any]: ...
    def cotangents(self, bars: Any, args: Args, /) -> Args: ...
    def splat(self, args: Args, /) -> Args: ...
    def gather(self, bars: Sequence[Any], args: Args, /) -> Args: ...
    def is_single(self, value: Any, /) -> bool: ...
    def result_bar(self, y_bar: Mapping[Any, Any], y: Any, /) -> Any: ...
