"""Pauses of the garbage collector."""

from __future__ import annotations

import gc

import pytest

from wengert.values.garbage import collections_paused


def test_collections_go_on_after_the_outer_of_two_pauses() -> None:
    with collections_paused():
        with collections_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_collections_go_on_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), collections_paused():
        1 / 0  # noqa: B018
    assert gc.isenabled()


def test_a_collector_that_the_user_disabled_stays_disabled() -> None:
    gc.disable()
    try:
        with collections_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
