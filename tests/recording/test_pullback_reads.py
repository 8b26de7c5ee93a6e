"""The pullback of a user's rule reads what was there when the rule was called, whatever is written afterwards.

Each program calls y = w x² with a rule whose pullback reads w, x or y late, from some place; changes what stands in
that place in some way; and returns the sum of y. The gradient is 2 w x, or an error.
"""

import collections
import functools
import types

import numpy as np
import pytest

import wengert as wg

N = 4


def power(w, x):
    return w * x**2


@pytest.fixture(autouse=True)
def scope():
    with wg.rules.scope():
        yield


class Program:
    """A rule whose pullback reads late, and what of it can be written: `array` in place, `exchange` for another."""

    def __init__(self, make):
        self.w = np.array([1.0, 2.0, -3.0, 0.5])
        self.function, self.place = make(self)

    def exchange(self, value):
        holder, key = self.place
        if isinstance(holder, types.CellType):
            holder.cell_contents = value
        elif isinstance(key, str) and not isinstance(holder, dict):
            setattr(holder, key, value)
        else:
            holder[key] = value


PLACES = {}
EXCHANGEABLE = []  # those places where the array can be exchanged for another


def place(make):
    PLACES[make.__name__] = make
    return make


def exchangeable(make):
    EXCHANGEABLE.append(make)
    return place(make)


def ruled(body):
    """A function of one array, with this rule."""

    def f(x):
        return body(x)[0]

    wg.rrule(f)(body)
    return f


@place
def a_cell(p):
    w = p.w
    f = ruled(lambda x: (power(w, x), lambda y_bar: y_bar * 2 * w * x))
    return f, None


@exchangeable
def a_cell_of_an_outer_function(p):
    w = p.w

    def body(x):
        return power(w, x), lambda y_bar: y_bar * 2 * w * x

    return ruled(body), (body.__closure__[0], None)


@place
def a_default(p):
    def body(x):
        def pullback(y_bar, w=p.w):
            return y_bar * 2 * w * x

        return power(p.w, x), pullback

    return ruled(body), None


@place
def a_keyword_default(p):
    def body(x):
        def pullback(y_bar, *, w=p.w):
            return y_bar * 2 * w * x

        return power(p.w, x), pullback

    return ruled(body), None


@exchangeable
def a_list(p):
    held = [p.w]
    return ruled(lambda x: (power(held[0], x), lambda y_bar: y_bar * 2 * held[0] * x)), (held, 0)


@exchangeable
def a_dictionary(p):
    held = {"w": p.w}
    return ruled(lambda x: (power(held["w"], x), lambda y_bar: y_bar * 2 * held["w"] * x)), (held, "w")


@exchangeable
def a_deque(p):
    held = collections.deque([p.w])
    return ruled(lambda x: (power(held[0], x), lambda y_bar: y_bar * 2 * held[0] * x)), (held, 0)


@exchangeable
def a_dictionary_in_a_list(p):
    held = [{"w": p.w}]
    return ruled(lambda x: (power(held[0]["w"], x), lambda y_bar: y_bar * 2 * held[0]["w"] * x)), (held[0], "w")


class Holder:
    pass


class Slotted:
    __slots__ = ("w",)


@exchangeable
def an_attribute(p):
    held = Holder()
    held.w = p.w
    return ruled(lambda x: (power(held.w, x), lambda y_bar: y_bar * 2 * held.w * x)), (held, "w")


@exchangeable
def a_slot(p):
    held = Slotted()
    held.w = p.w
    return ruled(lambda x: (power(held.w, x), lambda y_bar: y_bar * 2 * held.w * x)), (held, "w")


@exchangeable
def a_namespace(p):
    held = types.SimpleNamespace(w=p.w)
    return ruled(lambda x: (power(held.w, x), lambda y_bar: y_bar * 2 * held.w * x)), (held, "w")


@exchangeable
def an_attribute_of_a_class(p):
    held = type("Made", (), {"w": p.w, "slope": lambda self, x: 2 * self.w * x})
    made = held()
    return ruled(lambda x: (power(made.w, x), lambda y_bar: y_bar * made.slope(x))), (held, "w")


@exchangeable
def a_class(p):
    held = type("Made", (), {"w": p.w})
    return ruled(lambda x: (power(held.w, x), lambda y_bar: y_bar * 2 * held.w * x)), (held, "w")


@exchangeable
def an_attribute_of_a_base(p):
    base = type("Base", (), {"w": p.w})
    held = type("Made", (base,), {})
    return ruled(lambda x: (power(held.w, x), lambda y_bar: y_bar * 2 * held.w * x)), (base, "w")


@exchangeable
def an_attribute_of_a_function(p):
    def slope(x):
        return 2 * slope.w * x

    slope.w = p.w
    return ruled(lambda x: (power(slope.w, x), lambda y_bar: y_bar * slope(x))), (slope, "w")


@place
def an_attribute_of_an_array(p):
    class Marked(np.ndarray):
        pass

    held = np.zeros(1).view(Marked)
    held.w = p.w
    return ruled(lambda x: (power(held.w, x), lambda y_bar: y_bar * 2 * held.w * x)), None


@place
def a_method_of_an_array(p):
    def body(x):
        product = (2 * x).__mul__
        return power(p.w, x), lambda y_bar, times=p.w.__mul__: product(times(y_bar))

    return ruled(body), None


@place
def a_method_in_c(p):
    table = np.diag(p.w)
    p.w = table  # written as a whole
    return ruled(lambda x: (np.diag(table) * x**2, lambda y_bar, dot=table.dot: 2 * dot(y_bar) * x)), None


@place
def a_chain_of_maps(p):
    held = collections.ChainMap({}, {"w": p.w})
    return ruled(lambda x: (power(held["w"], x), lambda y_bar: y_bar * 2 * held["w"] * x)), None


@place
def a_cached_function(p):
    def body(x):
        slope = functools.lru_cache(lambda k: 2 * p.w[k])
        return power(p.w, x), lambda y_bar: y_bar * np.array([slope(k) for k in range(N)]) * x

    return ruled(body), None


@place
def a_bound_method(p):
    class Rule:
        def __init__(self, x):
            self.w, self.x = p.w, x
            Rule.last = self

        def pull(self, y_bar):
            return y_bar * 2 * self.w * self.x

    return ruled(lambda x: (power(p.w, x), Rule(x).pull)), None


@place
def a_callable_object(p):
    class Pull:
        def __init__(self, w, x):
            self.w, self.x = w, x

        def __call__(self, y_bar):
            return y_bar * 2 * self.w * self.x

    return ruled(lambda x: (power(p.w, x), Pull(p.w, x))), None


@place
def a_partial(p):
    def pull(w, x, y_bar):
        return y_bar * 2 * w * x

    return ruled(lambda x: (power(p.w, x), functools.partial(pull, p.w, x))), None


@exchangeable
def a_partial_of_a_list(p):
    held = [p.w]

    def pull(held, x, y_bar):
        return y_bar * 2 * held[0] * x

    return ruled(lambda x: (power(held[0], x), functools.partial(pull, held, x))), (held, 0)


@exchangeable
def a_global_name(p):
    space = {"w": p.w, "__name__": "somewhere", "power": power}
    exec("def body(x):\n    return power(w, x), lambda y_bar: y_bar * 2 * w * x", space)
    return ruled(space["body"]), (space, "w")


@exchangeable
def a_global_name_of_a_helper(p):
    space = {"w": p.w, "__name__": "somewhere", "power": power}
    exec(
        "def slope(x):\n    return 2 * w * x\n"
        "def body(x):\n    def pullback(y_bar):\n        return y_bar * slope(x)\n    return power(w, x), pullback",
        space,
    )
    return ruled(space["body"]), (space, "w")


@exchangeable
def a_name_of_a_module(p):
    module = types.ModuleType("some_module")
    module.w = p.w
    space = {"m": module, "__name__": "somewhere", "power": power}
    exec("def body(x):\n    return power(m.w, x), lambda y_bar: y_bar * 2 * m.w * x", space)
    return ruled(space["body"]), (module, "w")


@place
def an_iterator(p):
    def body(x):
        it = iter([p.w])
        return power(p.w, x), lambda y_bar: y_bar * 2 * next(it) * x

    return ruled(body), None


@place
def a_generator(p):
    def slopes(w, x):
        yield
        yield 2 * w * x

    def body(x):
        it = slopes(p.w, x)
        next(it)
        return power(p.w, x), lambda y_bar: y_bar * next(it)

    return ruled(body), None


@place
def another_pullback(p):
    w = p.w

    def body(x):
        y, inner = wg.vjp(lambda x: w * x**2, x)
        return y, lambda y_bar: inner(y_bar)[0]

    return ruled(body), None


@place
def a_thunk(p):
    w = p.w
    return ruled(lambda x: (power(w, x), lambda y_bar: wg.Thunk(lambda: y_bar * 2 * w * x))), None


@place
def an_array_of_objects(p):
    held = np.array([p.w, None], dtype=object)
    return ruled(lambda x: (power(held[0], x), lambda y_bar: y_bar * 2 * held[0] * x)), None


@place
def a_view_of_a_larger_array(p):
    large = np.zeros((3, 2 * N))
    large[1, ::2] = p.w
    p.w = large[1, ::2]
    w = large[1]
    return ruled(lambda x: (power(w[::2], x), lambda y_bar: y_bar * 2 * w[::2] * x)), None


def overwrite(p, x):
    p.w[:] = 0.0


def overwrite_with_a_traced_value(p, x):
    p.w[:] = x[0]


def multiply(p, x):
    p.w *= 2


def write_through_a_view(p, x):
    p.w[::-1][1:] = 7.0


def write_with_out(p, x):
    np.negative(p.w, out=p.w)


def fill(p, x):
    p.w.fill(3.0)


def sort(p, x):
    p.w.sort()


def copy_to(p, x):
    np.copyto(p.w, 5.0)


def write_flat(p, x):
    p.w.flat[1] = 9.0


def write_by_a_ufunc(p, x):
    np.add.at(p.w, [0, 0, 2], 1.0)


@wg.non_differentiable
def scribble(w):
    w[:] = 11.0


def write_unseen(p, x):
    scribble(p.w)


def exchange(p, x):
    p.exchange(np.full(N, 4.0))


def exchange_for_a_traced_value(p, x):
    p.exchange(3 * x)


WRITES = [
    overwrite, overwrite_with_a_traced_value, multiply, write_through_a_view, write_with_out, fill, sort, copy_to,
    write_flat, write_by_a_ufunc, write_unseen,
]  # fmt: skip
EXCHANGES = [exchange, exchange_for_a_traced_value]
X = np.array([0.5, -1.0, 2.0, 1.5])


def gradient_at_once(f, x):
    return wg.grad(f)(x)


def gradient_by_vjp(f, x):
    return wg.vjp(f, x)[1](1.0)[0]


def gradient_stepwise(f, x):
    with wg.accumulation_options(strategy="pass through"):
        return wg.grad(f)(x)


def gradient_in_a_gradient(f, x):
    """The gradient of x·∇f, f being homogeneous of degree 2 in x, is 2 ∇f."""
    return wg.grad(lambda x: np.sum(x * wg.grad(f)(x)))(x) / 2


def gradient_on_a_tape(f, x):
    return wg.gradtape(f, x).play(x)[1][1]


MODES = [gradient_at_once, gradient_by_vjp, gradient_stepwise, gradient_in_a_gradient, gradient_on_a_tape]


def in_memory_of_its_own(p, change, x):
    """A program that changes what the pullback reads after the call, and puts it back in the end."""
    saved = p.w.copy()

    def f(x):
        y = p.function(x)
        change(p, x)
        return np.sum(y)

    return f, 2 * (np.diag(saved) if saved.ndim > 1 else saved) * x


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (name, change)
        for name, make in PLACES.items()
        for change in (*WRITES, *EXCHANGES)
        if change in WRITES or make in EXCHANGEABLE
    ],
)
def test_what_a_pullback_reads_is_as_it_was(name, change):
    for mode in MODES:
        f, expected = in_memory_of_its_own(Program(PLACES[name]), change, X)
        try:
            found = mode(f, X.copy())
        except (wg.RefusedCallError, wg.NoRuleError):
            assert mode in MODES[3:], mode  # where an outer trace looks on, memory cannot be put back
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=mode.__name__)


def test_exchanged_contents_are_right_in_nested_gradients_too():
    for make in EXCHANGEABLE:
        for change in EXCHANGES:
            for mode in MODES[3:]:
                f, expected = in_memory_of_its_own(Program(make), change, X)
                np.testing.assert_allclose(mode(f, X.copy()), expected, rtol=1e-12)


def large(n=20_000):
    """A rule that reads w, which is too large for a copy to be kept of it."""
    w = np.linspace(1.0, 2.0, n)
    x = np.linspace(-1.0, 1.0, n)
    return w, x, ruled(lambda x: (power(w, x), lambda y_bar: y_bar * 2 * w * x))


@pytest.mark.parametrize("change", WRITES)
def test_large_arrays_are_put_back_where_the_write_was_seen(change):
    w, x, f = large()
    p = types.SimpleNamespace(w=w)
    expected = 2 * w * x

    def program(x):
        y = f(x)
        change(p, x)
        return np.sum(y)

    if change is write_unseen:
        with pytest.raises(wg.RefusedCallError, match="overwritten after the call"):
            wg.grad(program)(x)
    else:
        np.testing.assert_allclose(wg.grad(program)(x), expected, rtol=1e-12)


@pytest.mark.parametrize("change", [np.flipud, np.negative, lambda w: np.roll(w, 1), lambda w: w[::-1] + 0])
def test_rows_that_change_places_unseen_are_told(change):
    w = np.arange(1.0, 200 * 1024 + 1).reshape(200, 1024)
    f = ruled(lambda x: (np.sum(w) * x, lambda y_bar: y_bar * np.sum(w)))

    @wg.non_differentiable
    def scramble():
        w[...] = change(w)

    def program(x):
        y = f(x)
        scramble()
        return y

    with pytest.raises(wg.RefusedCallError, match="overwritten after the call"):
        wg.grad(program)(2.0)


def test_the_pullback_of_vjp_holds_whatever_is_written_afterwards():
    for w, x, f in (large(), large(5)):
        expected = 2 * w * x
        mine = x.copy()
        _, pullback = wg.vjp(lambda x: np.sum(f(x)), mine)
        w[:] = 0.0
        mine[:] = 0.0
        np.testing.assert_allclose(pullback(1.0)[0], expected, rtol=1e-12)
        np.testing.assert_allclose(pullback(2.0)[0], 2 * expected, rtol=1e-12)
        assert not w.any()
        assert not mine.any()


def test_arguments_and_results_that_are_written_after_the_call():
    square = ruled(lambda x: (x * x, lambda y_bar: y_bar * 2 * x))

    def root_body(x):
        y = np.sqrt(x)
        return y, lambda y_bar: y_bar / (2 * y)

    root = ruled(root_body)

    def argument(x):
        a = x * 1
        y = square(a)
        a *= 10
        return np.sum(y + a)

    def argument_through_another_view(x):
        large = np.zeros((2, N))
        large[0] = x
        y = square(large[0])
        large.T[:, 0] = 1.0
        return np.sum(y)

    def result(x):
        y = root(x)
        y += 3
        return np.sum(y * y)

    def each_of_a_loop(x):
        total, a = 0.0, x * 1
        for k in range(4):
            total = total + np.sum(square(a))
            a[k] = a[k] * a[0]
        return total

    def unruled(x):
        total, a = 0.0, x * 1
        for k in range(4):
            total = total + np.sum(a * a)
            a[k] = a[k] * a[0]
        return total

    x = np.array([0.5, 1.0, 2.0, 1.5])
    np.testing.assert_allclose(wg.grad(argument)(x), 2 * x + 10)
    np.testing.assert_allclose(wg.grad(argument_through_another_view)(x), 2 * x)
    np.testing.assert_allclose(wg.grad(result)(x), (np.sqrt(x) + 3) / np.sqrt(x))
    np.testing.assert_allclose(wg.grad(each_of_a_loop)(x), wg.ngradient(unruled, x)[0], rtol=1e-6)
    for f in (argument, argument_through_another_view, result, each_of_a_loop):
        np.testing.assert_allclose(wg.vjp(f, x)[1](1.0)[0], wg.grad(f)(x))
        np.testing.assert_allclose(wg.grad(wg.checkpoint(f))(x), wg.grad(f)(x))


def test_a_workspace_that_the_next_call_overwrites():
    work = np.zeros(N)

    def body(x):
        np.multiply(x, 3, out=work)
        return work * work, lambda y_bar: y_bar * 6 * work

    f = ruled(body)

    def program(x):
        return np.sum(f(f(x)))

    np.testing.assert_allclose(wg.grad(program)(X), wg.ngradient(lambda x: np.sum((3 * (3 * x) ** 2) ** 2), X)[0])


class Layer:
    """Keeps what it was last called with, and adds up the gradients of its weight, as layers written by hand do."""

    def __init__(self, w):
        self.w, self.x, self.calls, self.log = w, None, 0, []
        self.w_bar, self.total = np.zeros(N), np.zeros(N)

    def __call__(self, x):
        self.x = x
        self.calls += 1
        self.log.append("forward")
        return self.w * x * x


@pytest.mark.parametrize("times", [1, 2, 3])
def test_what_a_pullback_writes_stays_written(times):
    layer = Layer(np.array([0.5, 1.0, 0.25, 2.0]))

    def pull(y_bar):
        layer.calls += 1
        layer.log.append("back")
        layer.w_bar += y_bar * layer.x**2
        layer.total = layer.total + y_bar * layer.x**2
        return y_bar * 2 * layer.w * layer.x

    @wg.rrule(Layer.__call__)
    def rule(self, x):
        return Layer.__call__(self, x), lambda y_bar: (None, pull(y_bar))

    def program(x):
        for _ in range(times):
            x = layer(x)
        return np.sum(x)

    def plain(x, w):
        for _ in range(times):
            x = w * x * x
        return np.sum(x)

    x = np.array([0.5, 1.5, 1.0, 0.75])
    np.testing.assert_allclose(wg.grad(program)(x), wg.ngradient(plain, x, layer.w)[0], rtol=1e-6)
    w_bar = wg.ngradient(plain, x, layer.w)[1]
    np.testing.assert_allclose(layer.w_bar, w_bar, rtol=1e-6)
    np.testing.assert_allclose(layer.total, w_bar, rtol=1e-6)
    assert layer.log == ["forward"] * times + ["back"] * times
    assert layer.calls == 2 * times


def test_a_stack_that_pullbacks_empty():
    stack = []

    def body(x):
        stack.append(x)
        return x**2, lambda y_bar: y_bar * 2 * stack.pop()

    f = ruled(body)
    np.testing.assert_allclose(wg.grad(lambda x: np.sum(f(f(f(x)))))(X), 8 * X**7)
    assert not stack


def test_random_programs_of_calls_and_writes():
    """Calls of rules that keep workspaces, with writes to what they keep in between: as without any rule."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        steps = [(int(rng.integers(6)), int(rng.integers(N)), float(rng.normal())) for _ in range(8)]
        w = rng.normal(size=N)
        work, held = np.zeros(N), {"k": 1.5}

        def square(x, w=w, work=work, held=held):
            np.multiply(w, x, out=work)
            return held["k"] * work * x

        def body(x, square=square, w=w, work=work, held=held):
            return square(x), lambda y_bar: 2 * y_bar * held["k"] * (work if held["k"] > 0 else w * x)

        f = ruled(body)

        def program(x, apply, steps=steps, w=w, held=held):
            w[:], held["k"] = 1.0, 1.5
            a = np.tanh(x)
            total = np.sum(a)
            for kind, k, c in steps:
                if kind < 2:
                    total = total + np.sum(np.tanh(apply(a)))
                elif kind == 2:
                    a[k] = c * a[k - 1]
                elif kind == 3:
                    w[k] = c
                elif kind == 4:
                    held["k"] = c
                else:
                    a = np.tanh(apply(a))
            return total

        def plain(x, w=w, held=held):
            return held["k"] * w * x * x

        x = rng.normal(size=N)
        expected = wg.ngradient(lambda x, p=program, plain=plain: p(x, plain), x)[0]
        found = wg.grad(lambda x, p=program, f=f: p(x, f))(x)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
        _, pullback = wg.vjp(lambda x, p=program, f=f: p(x, f), x)
        w[:], held["k"] = 5.0, 7.0
        np.testing.assert_allclose(pullback(1.0)[0], expected, rtol=1e-5, atol=1e-7)
        checkpointed = wg.checkpoint(f)
        found = wg.grad(lambda x, p=program, f=checkpointed: p(x, f))(x)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_arrays_that_rules_of_the_other_forms_read():
    w = np.array([1.0, 2.0])

    def f(x):
        return w * x**2

    def g(x):
        return w * x**2

    @wg.vjp_rule(f)
    def f_rule(y_bar, y, x):
        return y_bar * 2 * w * x

    @wg.partials(g)
    def g_rule(y, x):
        return 2 * w * x

    def program(x, apply):
        y = apply(x)
        w[:] = 7.0
        return np.sum(y)

    for apply in (f, g):
        w[:] = [1.0, 2.0]
        x = np.array([3.0, 5.0])
        np.testing.assert_allclose(wg.grad(lambda x, apply=apply: program(x, apply))(x), [6.0, 20.0])


@pytest.mark.filterwarnings("ignore:Setting the shape")
def test_what_a_pullback_reads_has_the_shape_that_it_had():
    w = np.array([1.0, 2.0, 3.0, 4.0])

    def weighted(a):
        return np.sum(a * a * w)

    @wg.rrule(weighted)
    def weighted_rule(a):
        return weighted(a), lambda y_bar: y_bar * 2 * a * w if a.shape == w.shape == (4,) else np.full(4, np.nan)

    def f(x):
        a = x * 2.0
        y = weighted(a)
        a.shape = w.shape = (2, 2)
        return y + a[1, 1]

    x = np.array([0.5, -1.0, 2.0, 0.25])
    for mode in MODES[:2]:
        np.testing.assert_allclose(mode(f, x.copy()), 8 * x * [1, 2, 3, 4] + [0, 0, 0, 2], rtol=1e-12)
        assert w.shape == (2, 2)
        w.shape = (4,)
    with pytest.raises(wg.RefusedCallError, match="whose shape was changed"):
        gradient_in_a_gradient(f, x)
