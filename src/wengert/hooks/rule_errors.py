"""Errors for calls that cannot be recorded: they have no rule, and get one to paste, or return an object array."""

from __future__ import annotations

import functools
import linecache
import re
import sys
import types
from _ctypes import CFuncPtr
from typing import Any

import numpy as np

from wengert.errors import NoRuleError, RefusedCallError
from wengert.hooks.advice import advice_on_call
from wengert.recording.recording import Recording, called_by_user, users_line, users_site
from wengert.recording.slots import slot_of
from wengert.rulebook.registry import rules
from wengert.values.callables import callable_name, stub, stub_with_outputs, written_name
from wengert.values.named_tuples import NamedTuple
from wengert.values.names import import_path
from wengert.values.trees import namespace

STRING = "a string made from a traced value reaches it"


def refuse_or_survey(recording: Recording, fn: Any, why: str, args: tuple[Any, ...]) -> None:
    """Refuse a call without a rule; during a survey of missing rules, note it and go on."""
    if recording.survey is None:
        raise no_rule_error(recording, fn, why, args)
    call = CallByUser.of(recording, fn, args)
    recording.survey.refused.append((call.f, users_site(), why, call.name, call.stub))


class CallByUser(NamedTuple):
    """The call of the user's code that led to one without a rule: how the code names the function, and a rule to paste.

    `spelled` is the name of an object without an import path; `outputs` are the places of the arrays that the function
    may write through pointers.
    """

    f: Any
    name: str
    spelled: str | None
    outputs: list[int]
    stub: str

    @classmethod
    def of(cls, recording: Recording, fn: Any, args: tuple[Any, ...]) -> CallByUser:
        """Find the call that led to `fn(*args)`."""
        called = called_by_user(fn)
        spelled, outputs = _name_at_call(called), _output_arrays(recording, called, args)
        name = spelled or callable_name(called)
        stubbed = (
            stub_with_outputs(name, args, outputs) if outputs else stub(called, args if called is fn else None, spelled)
        )
        return cls(called, name, spelled, outputs, stubbed)


def no_rule_error(recording: Recording, fn: Any, why: str, args: tuple[Any, ...] = ()) -> NoRuleError:
    """Return the error for a call of `fn`, which has no rule; its message has a stub to paste."""
    if recording.reads is not None:
        recording.reads.want_constants(tuple([slot_of(recording, a) for a in args]))
    if fn in rules:
        return _unreached_error(recording, fn, why)
    called, name, spelled, outputs, stubbed = CallByUser.of(recording, fn, args)
    through, request = "" if called is fn else f" (through {callable_name(fn)})", "To give it a rule"
    if spelled is not None:
        count = f"{len(args)} argument{'s' * (len(args) != 1)}"
        request = f"Give your function object a rule; it was called with {count}"
    if outputs:
        request = (
            "The call writes into an array through a pointer. Wrap it in a function that returns this array, call that "
            "function, and give it a rule"
        )
    remedy = advice_on_call(name) or (
        f"{request}:\n\n{stubbed}\n\nIf it has no derivative: wg.non_differentiable({spelled or written_name(called)})."
    )
    error = NoRuleError(
        f"{users_line()}: {name}{through} has no rule, and {why}. Its derivative is unknown here; a zero would be "
        f"silently wrong. {remedy}"
    )
    recording.refuse(error)
    return error


def object_array_error(fn: Any) -> RefusedCallError:
    """Make the error for a call that returned an array of Python objects with traced values in it."""
    return RefusedCallError(
        f"{users_line()}: {callable_name(fn)} returns an object array, which a tape cannot record. "
        "Call it for each element, and make an array of the numbers: np.array([f(a) for a in x])."
    )


def _output_arrays(recording: Recording, fn: Any, args: tuple[Any, ...]) -> list[int]:
    """Return the places of the arrays into which a function of ctypes may write: those that are not traced."""
    if not issubclass(type(fn), CFuncPtr):
        return []
    arrays = [k for k, a in enumerate(args) if type(a) is np.ndarray and a.flags.writeable]
    return [k for k in arrays if slot_of(recording, args[k]) is None]


def _name_at_call(fn: Any) -> str | None:
    """Return the name by which the user's line calls an object without an import path; None for any other."""
    site, frame = users_site(), sys._getframe(1)
    if site is None or isinstance(fn, (type, types.FunctionType)) or import_path(fn) is not None:
        return None
    while frame is not None and (frame.f_code.co_filename, frame.f_lineno) != (site.file, site.line):
        frame = frame.f_back  # type: ignore[assignment]
    names = {} if frame is None else {**frame.f_globals, **frame.f_locals}
    for path in re.findall(r"[\w.]+(?=\()", linecache.getline(site.file, site.line)):
        first, *rest = path.split(".")
        if functools.reduce(lambda owner, name: _vars_of(owner).get(name), rest, names.get(first)) is fn:
            return str(path)
    return None


def _vars_of(owner: Any) -> dict[str, Any]:
    """Return the namespace of an object, without calling methods of its class."""
    return vars(owner) if type(owner) in (types.ModuleType, type) else namespace(owner)


def _unreached_error(recording: Recording, fn: Any, why: str) -> NoRuleError:
    """Return the error for a call whose rule cannot reach a traced value: it sees arguments and items of containers."""
    name = callable_name(fn)
    if why is STRING:
        reason = (
            f"`{name}()` was given a string made from a traced value, so the derivative is lost here. "
            "Pass the number itself."
        )
    else:
        reason = (
            f"{why} where the rule of {name} ({rules[fn].where}) has no derivative: in a closure, a set, an "
            "iterator, an attribute of an argument, or, on a tape, a dict. Pass the value as an argument of its own, "
            "or in an array (`np.asarray`)."
        )
    error = NoRuleError(f"{users_line()}: {reason}")
    recording.refuse(error)
    return error
