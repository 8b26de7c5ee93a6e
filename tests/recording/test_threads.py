"""Gradients on several threads, of functions and rules that wait for one another: none waits for ever."""

from __future__ import annotations

import asyncio
import concurrent.futures
import multiprocessing.pool
import os
import queue
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.recording import recording, session, shadow

ARRAY = np.array([0.5, 2.0, -1.0])
Work = Callable[[], Any]


@wg.checkpoint
def _block(x: Any) -> Any:
    return np.sin(x) * x


def guest() -> Any:
    """Gradients of all kinds, as another thread may take them."""

    def writes(x: Any) -> Any:
        a = np.zeros(3)
        a[0] = x
        a[1:] = a[:2] * x
        a *= 2.0
        return np.sum(a * a)

    return (
        wg.grad(lambda y: y * y * y)(2.0),
        wg.grad(writes)(1.5),
        wg.grad(lambda y: y * wg.grad(writes)(y))(1.5),
        wg.grad(lambda a: np.sum(np.exp(a) * a))(np.ones(2000))[0],
        wg.grad(lambda y: _block(y) * y)(0.5),
        wg.gradtape(lambda y: y * y if y > 1 else y, 2.0).play(3.0),
        wg.vjp(lambda a: a[0] * a[1][0], [2.0, [3.0]])[1](1.0),
    )


GUEST = guest()


def check(found: Any) -> None:
    """Without `assert`, by which rules would reach what pytest holds."""
    if repr(found) != repr(GUEST):
        raise AssertionError(found)


def thread(work: Work) -> Any:
    found: list[Any] = []
    started = threading.Thread(target=lambda: found.append(work()))
    started.start()
    started.join()
    return found[0]


def future(work: Work) -> Any:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def mapped(work: Work) -> Any:
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return [*pool.map(lambda _: work(), range(3))][2]


def completed(work: Work) -> Any:
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in concurrent.futures.as_completed([pool.submit(work), pool.submit(work)]):
            found = done.result()
    return found


def pool(work: Work) -> Any:
    with multiprocessing.pool.ThreadPool(2) as threads:
        return threads.apply(work)


def pool_map(work: Work) -> Any:
    with multiprocessing.pool.ThreadPool(2) as threads:
        first = threads.map(lambda _: work(), range(2))[0]
        return [first, *threads.imap(lambda _: work(), range(2))][-1]


def _begun(work: Work, tell: Callable[[Any], Any]) -> None:
    threading.Thread(target=lambda: tell(work()), daemon=True).start()


def in_queue(work: Work) -> Any:
    found: queue.Queue[Any] = queue.Queue()
    _begun(work, found.put)
    return found.get()


def in_simple_queue(work: Work) -> Any:
    found: queue.SimpleQueue[Any] = queue.SimpleQueue()
    _begun(work, found.put)
    return found.get(timeout=30)


def event(work: Work) -> Any:
    done, found = threading.Event(), []
    _begun(work, lambda it: (found.append(it), done.set()))
    done.wait(30)
    return found[0]


def condition(work: Work) -> Any:
    found: list[Any] = []
    ready = threading.Condition()

    def tell(it: Any) -> None:
        with ready:
            found.append(it)
            ready.notify()

    with ready:
        _begun(work, tell)
        while not found:
            ready.wait()
    return found[0]


def semaphore(work: Work) -> Any:
    done, found = threading.Semaphore(0), []
    _begun(work, lambda it: (found.append(it), done.release()))
    done.acquire()
    return found[0]


def barrier(work: Work) -> Any:
    both, found = threading.Barrier(2), []
    _begun(work, lambda it: (found.append(it), both.wait()))
    both.wait()
    return found[0]


def lock(work: Work) -> Any:
    """Held by another thread that waits for its gradient."""
    held, taken, found = threading.Lock(), threading.Event(), []

    def other() -> None:
        with held:
            taken.set()
            found.append(work())

    threading.Thread(target=other, daemon=True).start()
    taken.wait()
    with held:
        return found[0]


def lock_acquired(work: Work) -> Any:
    held, found = threading.Lock(), []
    held.acquire()
    _begun(work, lambda it: (found.append(it), held.release()))
    held.acquire()
    held.release()
    return found[0]


def reentrant(work: Work) -> Any:
    held, taken, found = threading.RLock(), threading.Event(), []

    def other() -> None:
        with held:
            taken.set()
            found.append(work())

    threading.Thread(target=other, daemon=True).start()
    taken.wait()
    with held, held:
        return found[0]


def asked(work: Work) -> Any:
    """Asked for again and again."""
    found: list[Any] = []
    _begun(work, found.append)
    while not found:
        time.sleep(0.001)
    return found[0]


def pipe(work: Work) -> Any:
    found: list[Any] = []
    come, go = os.pipe()
    _begun(work, lambda it: (found.append(it), os.write(go, b"x")))
    os.read(come, 1)
    os.close(come)
    os.close(go)
    return found[0]


def event_loop(work: Work) -> Any:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, asyncio.to_thread(work)).result()


WAYS: list[Callable[[Work], Any]] = [
    thread, future, mapped, completed, pool, pool_map, in_queue, in_simple_queue, event, condition, semaphore, barrier,
    lock, lock_acquired, reentrant, asked, pipe, event_loop,
]  # fmt: skip


def waiting(way: Callable[[Work], Any]) -> Callable[[Any], Any]:
    """x ↦ 3 x⁴, by written arrays, with a wait in the middle."""

    def f(x: Any) -> Any:
        a = np.zeros(3)
        a[:2] = x
        b = a * x
        check(way(guest))
        a[2] = x
        b[2] = a[2] * x
        a[0] = 0.0
        return np.sum(b) * x * x

    return f


def cubed(way: Callable[[Work], Any], where: str) -> Any:
    """x ↦ x³, with a rule that waits."""

    def g(x: Any) -> Any:
        if where == "the function of a rule":
            check(way(guest))
        return x**3

    @wg.rrule(g)
    def rule(x: Any) -> Any:
        if where == "the body of a rule":
            check(way(guest))

        def pullback(y_bar: Any) -> Any:
            if where == "a pullback":
                check(way(guest))
            return 3 * y_bar * x * x

        return g(x), pullback

    return g


PLACES: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "the function": lambda way: (wg.grad(waiting(way))(2.0), 96.0),
    "a gradient inside": lambda way: (wg.grad(lambda x: wg.grad(waiting(way))(x) * x)(2.0), 384.0),
    "a vjp": lambda way: (wg.vjp(waiting(way), 2.0)[1](1.0)[0], 96.0),
    "a tape": lambda way: (wg.gradtape(waiting(way), 2.0).play(3.0)[1][1], 324.0),
    "a checkpoint": lambda way: (wg.grad(wg.checkpoint(waiting(way)))(2.0), 96.0),
    "the function of a rule": lambda way: (_beside(cubed(way, "the function of a rule")), 5 * 2.0**4),
    "the body of a rule": lambda way: (_beside(cubed(way, "the body of a rule")), 5 * 2.0**4),
    "a pullback": lambda way: (_beside(cubed(way, "a pullback")), 5 * 2.0**4),
    "a pullback in a vjp": lambda way: (wg.vjp(cubed(way, "a pullback"), 2.0)[1](1.0)[0], 12.0),
}


def _beside(g: Any) -> Any:
    """d/dx of x⁵, of which a rule makes a part, a checkpoint another, and a written array the rest."""

    def f(x: Any) -> Any:
        a = np.zeros(2)
        a[0] = g(x)
        a[1] = a[0] * _square(x)
        return a[1]

    return wg.grad(f)(2.0)


@wg.checkpoint
def _square(x: Any) -> Any:
    return x * x


def within(seconds: float, work: Work) -> Any:
    """What something gives on a thread of its own, in time."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    started = threading.Thread(target=run, daemon=True)
    started.start()
    started.join(seconds)
    assert found, "it waits for ever"
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def nothing_is_left() -> bool:
    """By way of the modules: to a rule that reaches a list by its name, it is shown as it was."""
    now = session.SESSION
    return not (now.recordings or now.turns or now.shown or recording.STATE.recording or shadow.SHADOW)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("way", WAYS)
def test_who_waits_for_another_threads_gradient_gets_it(way: Callable[[Work], Any], place: str) -> None:
    found, expected = within(60, lambda: PLACES[place](way))
    assert found == expected
    assert nothing_is_left()


def test_a_wait_that_fails_leaves_all_clean() -> None:
    def fails() -> Any:
        wg.grad(lambda y: y * y)(2.0)
        raise ZeroDivisionError

    def f(x: float) -> float:
        try:
            future(fails)
        except ZeroDivisionError:
            return x * x
        return x

    assert within(60, lambda: wg.grad(f)(3.0)) == 6.0
    with pytest.raises(ZeroDivisionError):
        within(60, lambda: wg.grad(lambda x: x * future(fails))(3.0))
    assert nothing_is_left()


def test_threads_that_wait_for_one_another() -> None:
    """Each gradient waits in its function for a word of the others, many times."""
    met = threading.Barrier(4)

    def f(x: float) -> float:
        a, total = np.zeros(4), x
        for k in range(20):
            met.wait()
            a[k % 4] = total * x
            total = total + a[k % 4] * 0.01
        return total

    expected = wg.ngradient(lambda x: x * (1 + 0.01 * x) ** 20, 1.5)[0]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = within(60, lambda: [*pool.map(lambda _: wg.grad(f)(1.5), range(4))])
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    assert nothing_is_left()


def test_threads_of_gradients_of_many_kinds() -> None:
    """Each on its own, with waits of random length in between, also those whose rules wait."""

    def one(seed: int) -> bool:
        dice = random.Random(seed)
        way = dice.choice([thread, future, asked, event])
        place = dice.choice(list(PLACES))
        found, expected = PLACES[place](way)
        return bool(found == expected) and repr(guest()) == repr(GUEST)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert within(200, lambda: all(pool.map(one, range(40))))
    assert nothing_is_left()


def test_a_traced_value_of_one_thread_is_a_constant_to_another() -> None:
    started, done = threading.Event(), threading.Event()
    seen: list[Any] = []

    def other() -> None:
        started.wait(10)
        seen.append(wg.grad(lambda y: y * seen[0])(2.0))
        done.set()

    def f(x: float) -> float:
        y = x * 2
        seen.append(y)
        started.set()
        assert done.wait(10)
        return y * y

    begun = threading.Thread(target=other)
    begun.start()
    assert within(60, lambda: wg.grad(f)(3.0)) == 24.0
    begun.join(10)
    assert seen == [6.0, 6.0]
