"""Programs of `programs.py` in what Pythons after 3.11 can read only: as text, by the first that can."""

TEXTS = {
    (3, 12): """
@program(1.3)
def type_parameters(x):
    def square[T](a: T) -> T:
        return a * a

    class Box[T]:
        def twice(self, v: T):
            return v * 2

    type Numbers = list[float]
    return Box[float]().twice(square(x))


@program(1.3)
def nested_quotes(x):
    names = {"a": x}
    assert len(f"{names["a"]:>{30}}") == 30
    return names["a"] * x
""",
    (3, 14): """
@program(1.3)
def template_string(x):
    w = 10
    a, b, c, d = t"a {x} b {x * x!r:>{w}} {x!a} {x:5}".interpolations
    assert [i.conversion for i in (a, b, c, d)] == [None, "r", "a", None]
    assert [i.format_spec for i in (a, b, c, d)] == ["", ">10", "", "5"]
    assert (a.expression, b.expression) == ("x", "x * x")
    return a.value * b.value + t"{x}".values[0] * d.value


@program(1.3)
def template_string_iterated_and_matched(x):
    from string.templatelib import Interpolation

    total = 0.0
    for part in t"first {x} then {x * 3}":
        match part:
            case Interpolation(value, expression):
                total = total + value * len(expression)
    return total


@program(1.3)
def nested_template_strings(x):
    inner = t"{x * x}"
    outer = t"{inner!s} and {t"{x}" + inner}"
    return sum([v for template in outer.values for v in template.values])


@program(1.3)
def handlers_without_parentheses(x):
    try:
        return x * [1][3]
    except KeyError, IndexError:
        return x * x


@program(1.3)
def tests_of_generators_that_are_inlined(x):
    xs = [x, x * 2, -x]
    s = 0.0
    if any(v < 0 for v in xs):
        s += x
    if all(v < 100 for v in xs):
        s += x * x
    return s + sum(tuple(v * v for v in xs))


@program(1.3)
def annotations_are_not_evaluated(x):
    class Box:
        a: Unknown = x

        def scaled(self, y: Unknown) -> Unknown:
            return self.a * y

    box: Unknown = Box()
    return box.scaled(x)


@program(1.3)
def variables_reassigned_while_on_the_stack(x):
    y = x
    y = y * (y := y * 3) + y
    y = y + (y := y * 2) * y
    z = y
    return [z, y][(lambda: 1)()] * (z := z + x)


@program(1.3)
def variables_deleted_while_on_the_stack(x):
    def keep(v, w):
        return v * w

    a = x * x
    b = [a, a]
    del a
    a = b[0] * b[1]
    c = keep(a, b.pop())
    del a, b
    return c * 2


@program(1.3)
def small_and_large_integers(x):
    return -x * 5 + 256 * x - 300 * x + x**3 + 255 % 7 * x
""",
    (3, 15): """
@program(1.3)
def unpacking_in_comprehensions(x):
    rows = [[x, x * 2], (x * x,), range(2)]
    listed = [*row for row in rows]
    kept = {*row for row in rows}
    merged = {**{name: x * n, "all": x} for n, name in enumerate("abc", 1)}
    made = (*row for row in rows if row)
    return sum(listed) + max(kept) * merged["b"] + sum(made) * merged["all"]


@program(1.3)
def unpacking_in_loops_around_comprehensions(x):
    total = 0.0
    for scale in (1.0, 2.0, 3.0):
        total = total * x + sum([*pair for pair in [(x * scale, scale), (scale, x)] for _ in range(2)])
    return total


@program(1.3)
def generators_that_are_inlined_as_containers(x):
    xs = [x, x * 2, -x]
    return sum(list(v * v for v in xs)) + max(set(v * x for v in xs)) + tuple(v for v in xs)[1]


@program(1.3)
def lists_and_tuples_that_loops_change_while_they_iterate(x):
    xs, total = [x], 0.0
    for v in xs:
        if len(xs) < 4:
            xs.append(v * x)
        total = total + v
    for v, w in zip((x, x * 2), iter((3.0, x))):
        total = total + v * w
    for v in (y * 2 for y in xs):
        total = total * v
    return total


@program(1.3)
def iterators_that_delegate(x):
    def inner(v):
        got = yield v * x
        return got * v

    def outer(v):
        first = yield from inner(v)
        yield from [first, v]
        yield from (w * v for w in (x, v))

    it = outer(x * 2)
    next(it)
    return it.send(3.0) * x + sum(it)


@program(1.3)
def frozen_dictionaries(x):
    kept = frozendict(a=x, b=[x * x])
    joined = kept | {"c": x * 3}
    match joined:
        case {"a": a, "c": c}:
            return sum(joined[k] if k != "b" else joined[k][0] for k in joined) + a * c * len({**kept})


@program(1.3)
def sentinels(x):
    missing = sentinel("missing")

    def scaled(v, by=missing):
        return v if by is missing else v * by

    return scaled(x) + scaled(x, x)


@program(1.3)
def common_constants(x):
    y = None
    if y is None and x is not None:
        y = x if x != -1 else ""
    return y * -1 + (y * True if "" == "" else False)
""",
}
