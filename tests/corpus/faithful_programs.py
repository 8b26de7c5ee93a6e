"""Programs that say what they see of the language; traced they must say the same. One per way that was once lost."""

# ruff: noqa (programs are written as a user would)

from __future__ import annotations

import abc
import collections
import contextlib
import decimal
import enum
import io
import pickle
import sys
import threading
import traceback
import types
import warnings
from typing import Any


def said(f: Any, *args: Any, **kwargs: Any) -> Any:
    """What a call gives, or the error that it raises."""
    try:
        return f(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, str(error)


class OnlyNext:
    def __next__(self):
        return 1


class BadIter:
    def __iter__(self):
        return 3


class Hinted:
    def __init__(self):
        self.asked = []

    def __iter__(self):
        self.asked.append("iter")
        return iter([1, 2])

    def __length_hint__(self):
        self.asked.append("hint")
        return 2


class NotIterable:
    __iter__ = None

    def __getitem__(self, i):
        return [7, 8][i]


class Sequence:
    def __init__(self, *items):
        self.items = items

    def __getitem__(self, i):
        return self.items[i]

    def __len__(self):
        return len(self.items)


class Counter:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


class Keys:
    def keys(self):
        return iter("ab")

    def __getitem__(self, key):
        return key * 2


def what_cannot_be_iterated():
    makers = [list, tuple, set, enumerate, zip, sum, sorted, iter, any, collections.deque, lambda a: [*a]]
    return [said(make, bad()) for make in makers for bad in (OnlyNext, BadIter, NotIterable)]


def what_is_asked_before_it_is_iterated():
    made = [Hinted() for _ in range(5)]
    return (
        list(made[0]),
        [*made[1]],
        tuple(made[2]),
        collections.deque(made[3]),
        bytes(made[4]),
        [m.asked for m in made],
    )


def what_is_no_iterator():
    def loop():
        for _ in BadIter():
            pass

    def unpack():
        a, b = BadIter()

    def delegate():
        yield from BadIter()

    return said(loop), said(unpack), said(lambda: [*BadIter()]), said(lambda: list(delegate())), said(dict, BadIter())


def an_iterator_is_itself():
    counter = Counter(3)
    items = iter(Sequence(1, 2, 3))
    first = next(items)
    copy = pickle.loads(pickle.dumps(items))
    return iter(counter) is counter, type(items).__name__, first, list(items), list(copy)


def reversed_by_index():
    items = reversed(Sequence(1, 2, 3))
    return type(items).__name__, items.__length_hint__(), list(items), said(reversed, {1}), said(reversed, OnlyNext())


def an_iterator_may_be_entered_again():
    class Again:
        def __iter__(self):
            return self

        def __next__(self):
            if len(self.made) > 3:
                raise StopIteration
            self.made.append(0)
            return said(next, self.over)

    again = Again()
    again.made = []
    again.over = zip(again)
    return said(list, again.over)


def dictionaries_from_mappings():
    class Sub(dict):
        def __getitem__(self, key):
            raise AssertionError("dict reads past it")

    made = dict(Keys()), {**Keys()}, dict(collections.ChainMap({1: 2}, {3: 4})), dict(Sub(a=1)), {**Sub(a=1)}
    held = collections.defaultdict(list, Keys())
    held.update(collections.UserDict(c=1))
    return *made, held, said(dict, [("a", 1), 2])


def lengths_and_truths():
    def of(**methods):
        return type("T", (), {name: lambda self, value=value: value for name, value in methods.items()})()

    lengths = [of(__len__=value) for value in (0, 3, -1, 1.5, True, 10**30)]
    truths = [of(__bool__=value) for value in (True, False, 1, None)]
    forbidden = type("T", (), {"__bool__": None})()
    both = [said(bool, it) for it in (*lengths, *truths, forbidden)]
    return both, [said(len, it) for it in lengths], [said(lambda it: 1 if it else 2, it) for it in (*lengths, *truths)]


def arguments_that_do_not_fit():
    return [
        said(getattr), said(getattr, 1), said(hasattr, 1, x=2), said(len), said(len, [], []), said(bool, x=1),
        said(next, x=1), said(iter), said(repr, 1, 2), said(any, [1], 2), said(filter, None), said(sorted),
        said(lambda: len(1)), said(lambda: getattr(1, "x")), said(format, 1, 2), said(setattr, 1, 2),
    ]  # fmt: skip


def attributes_of_c_objects():
    context = decimal.Context(prec=5)
    context.prec = 7
    local = threading.local()
    local.x = 3
    module = types.ModuleType("m")
    module.y = 4
    return context.prec, local.x, module.y, said(setattr, context, "nothing", 1)


class Asked:
    """Notes who asks for its class."""

    asked: list = []

    @property
    def __class__(self):
        Asked.asked.append(1)
        return Asked


def nobody_asks_an_object_for_its_class():
    it = Asked()
    Asked.asked.clear()
    it.x = 3
    [it.x for _ in range(2)], it == it, it != 1, [it][0], {"k": it}["k"]
    return len(Asked.asked)


class Described:
    def __get__(self, obj, owner):
        return obj is None, owner.__name__


class Holder:
    described = Described()


def descriptors_of_classes():
    class Meta(type):
        @property
        def shadowed(cls):
            return "of the metaclass"

        def plain(cls):
            return "of the metaclass"

    class C(metaclass=Meta):
        shadowed = "of the class"
        plain = "of the class"

    return Holder.described, Holder().described, C.shadowed, C.plain, said(lambda: Holder.nothing)


def class_cells():
    class Forgets(type):
        def __new__(cls, name, bases, names):
            names.pop("__classcell__", None)
            return super().__new__(cls, name, bases, names)

    def make():
        class C(metaclass=Forgets):
            def f(self):
                return __class__

    class Swaps(type):
        def __new__(cls, name, bases, names):
            made = super().__new__(cls, name, bases, names)
            return type("Other", (), {}) if name == "D" else made

    def swap():
        class D(metaclass=Swaps):
            def f(self):
                return __class__

    return [kind for kind, _ in (said(make), said(swap))]


def classes_of_any_kind():
    class Meta(int):
        def __init__(*args, **kwargs):
            pass

        def __new__(cls, name, bases, attrs, **kwargs):
            return bases, kwargs

    class A(0, *range(1, 3), metaclass=Meta, foo="bar"):
        pass

    class B:
        def __init_subclass__(cls, /, name="none", cls_=1, body=2, **rest):
            cls.got = name, cls_, body, rest

    class C(B, name="a name", cls_=5, body=6):
        pass

    class D:
        def __init__(self, /, cls, name=1, **kwargs):
            self.got = cls, name, kwargs

    return A, C.got, D(cls=3, name=4, args=5).got, type("E", (), {}).__module__, type("F", (), {"x": 1}).x


def lines_of(error):
    return [
        (frame.f_code.co_name, line - frame.f_code.co_firstlineno)
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]


class Manager:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.seen = lines_of(error) if error else []
        return True


class Refusing:
    def __add__(self, other):
        raise ValueError("no sums")

    def __getattr__(self, name):
        raise AttributeError("nothing here")

    def __getitem__(self, key):
        return {}[key]


def tracebacks_caught_inside():
    seen = []
    for run in (
        lambda: 1 / 0,
        lambda: Refusing() + 1,
        lambda: Refusing().x,
        lambda: Refusing()[3],
        lambda: [].y,
        lambda: sorted([1, 2], key=lambda v: v / 0),
        lambda: list(map(lambda v: v.z, [1])),
        lambda: int("x"),
    ):
        try:
            run()
        except Exception as error:
            seen.append(lines_of(error))
    with Manager() as manager:
        Refusing() + 2
    seen.append(manager.seen)

    @contextlib.contextmanager
    def managed():
        try:
            yield
        finally:
            seen.append(lines_of(sys.exc_info()[1]))

    with contextlib.suppress(ZeroDivisionError), managed():
        1 / 0
    return seen


class Caller:
    def __mul__(self, other):
        return sys._getframe(1).f_code.co_name, sys._getframe(other).f_code.co_name

    def __len__(self):
        warnings.warn("from the length", stacklevel=2)
        return 3


def frames_above():
    def inner():
        return [sys._getframe(k).f_code.co_name for k in range(2)], sys._getframe().f_back.f_code.co_name

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.warn("here")
        len(Caller())
        first = sys._getframe().f_lineno
    return inner(), Caller() * 1, [(str(w.message), first - w.lineno) for w in found], said(sys._getframe, 10**6)


def unreachable_calls():
    try:
        assert True
    except AssertionError as error:
        print("never", error, sep="")
    while False:
        print("never")
    return 1


def twice_the_same_keyword():
    class Twice:
        def keys(self):
            return iter("xx")

        def __getitem__(self, key):
            return 1

    def f(**words):
        return words

    return said(lambda: f(**Twice())), said(lambda: f(x=1, **Keys(), **Twice())), f(**Keys()), {**Twice()}


def calls_of_what_is_not_callable():
    nothing, number, items = None, 3, []
    calls = lambda: nothing(*len), lambda: number(), lambda: items(x=1), lambda: list(map(number, [1]))
    return said(iter, 3, 3), [said(call) for call in calls]


def functions_changed_on_the_way():
    def f():
        return 1

    def g():
        return 2

    before = outermost(), f()
    outermost.__code__, f.__code__ = other.__code__, g.__code__
    try:
        return before, outermost(), f()
    finally:
        outermost.__code__ = kept


def outermost():
    return 1


def other():
    return 2


kept = outermost.__code__


def texts_of_the_wrong_type():
    class Bad:
        def __str__(self):
            return 1

        def __repr__(self):
            return None

        def __format__(self, spec):
            return 2

    bad = Bad()
    return [said(f, bad) for f in (str, repr, format, lambda it: f"{it}", lambda it: f"{it!r}", lambda it: f"{it!s:3}")]


def extremes_of_nothing():
    return [
        said(max), said(max, ()), said(max, (), default=3), said(min, 1, 2, default=3), said(min, 1, 2, keys=3),
        said(max, default=1), said(max, (1,), key=lambda v: v), said(min, 3), said(max, [3, 1], key=None),
    ]  # fmt: skip


def free_and_bound_names_of_comprehensions():
    def outer():
        x = 1

        def f():
            return [lambda: x for x in (x, [1])[1]]

        return [fn() for fn in f()]

    return outer()


def a_super_of_its_own():
    class MySuper:
        message = "own"

    class Two:
        def __init__(self, *args):
            self.message = len(args)

    def of(super):
        class C:
            def method(self):
                return super().message

            def explicit(self):
                return super(C, self).message

        return said(C().method), said(C().explicit)

    return of(MySuper), of(Two)


class Shown(float):
    def __repr__(self):
        return "shown"

    def __add__(self, other):
        return "added"

    def __hash__(self):
        return 5


def methods_past_those_of_a_subclass():
    it = Shown(1.5)
    return (
        float.__repr__(it),
        repr(it),
        float.__add__(it, 1),
        it + 1,
        float.__hash__(it) == hash(1.5),
        hash(it),
        said(float.__repr__),
    )


def metaclasses_that_are_functions():
    def make(name, bases, names, **options):
        return name, bases, options, names["x"]

    class C(metaclass=make, k=2):
        x = 1

    class Callable:
        def __call__(self, name, bases, names):
            return type(name, bases, names)

    class D(metaclass=Callable()):
        y = 3

    return C, D.y, D.__name__


def chains_that_ask_later():
    import itertools

    chain = itertools.chain([1], BadIter(), Counter(2))
    return next(chain), said(next, chain), list(itertools.chain(Counter(2), Sequence(1, 2), "ab", {3: 4}))


class Undecided:
    def __divmod__(self, other):
        return NotImplemented

    __rdivmod__ = __pow__ = __divmod__


class Base:
    def __init_subclass__(cls):
        cls.log = []

    def __eq__(self, other):
        Log.append(type(self).__name__)
        return NotImplemented

    __lt__ = __gt__ = __eq__


Log: list = []


class Derived(Base):
    pass


class Virtual(abc.ABC):
    @classmethod
    def __subclasshook__(cls, other):
        return True

    def __eq__(self, other):
        Log.append("virtual")
        return NotImplemented

    __lt__ = __gt__ = __eq__


def operands_in_their_order():
    class Forbidden:
        __add__ = __iadd__ = __eq__ = None
        __hash__ = None

        def __radd__(self, other):
            return "reflected"

    def iadd(a, b):
        a += b
        return a

    class Broken:
        @property
        def __eq__(self):
            raise AttributeError("no")

    a, b, f = Base(), Derived(), Forbidden()
    Log.clear()
    found = [said(lambda p, q: p == q, p, q) for p in (a, b, Virtual()) for q in (a, b, Virtual())]
    found += [said(lambda p, q: p < q, p, q)[0] for p in (a, b) for q in (a, b, Virtual())]
    found += [said(lambda: f + f)[0], said(lambda: 1 + f), said(lambda: iadd(f, 1))[0], said(lambda: f == f)[0]]
    broken = Broken()
    found += [broken == broken, said(divmod, Undecided(), 1), said(divmod, 1, Undecided()), said(pow, Undecided(), 2)]
    return found, Log


def supers_of_classes():
    class A:
        @property
        def x(self):
            return "x of " + type(self).__name__

        @classmethod
        def named(cls):
            return cls.__name__

    class B(A):
        x = 1

    return type(super(B, B).x).__name__, super(B, B()).x, super(B, B).named(), said(lambda: super(A).x)


def numbers_that_convert():
    class Sub(float):
        pass

    class To:
        def __init__(self, value):
            self.value = value

        def __float__(self):
            return self.value

        __complex__ = __int__ = __float__

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        made = [said(f, To(v)) for f in (float, complex, int) for v in (1, 1.5, Sub(2.5), 2j, True)]
    lines = [w.category.__name__ for w in found]
    plain = [m if type(m) is not tuple else m[0] for m in made]
    return plain, [type(m).__name__ for m in made], lines, said(complex, To(1j), 2), said(lambda: (1j).__lt__(1j))


def modules_of_named_tuples():
    return collections.namedtuple("T", "a b").__module__, enum.Enum("E", "A B").__module__


class Cells:
    def __init__(self, **cells):
        self.cells = cells

    def __getitem__(self, key):
        return eval(self.cells[key], globals(), self)


def texts_evaluated():
    y = 3
    cells = Cells(a="b + 1", b="2")
    spaces = {}
    exec("z = y + 1", {"y": y}, spaces)
    future = eval("lambda x: 1").__code__.co_flags == (lambda x: 1).__code__.co_flags | 0
    names = said(eval, "y", globals={"y": 4}), said(exec, "w = 1", locals=spaces), said(eval, "y", {}, globals={})
    return cells["a"], spaces, eval(" y"), future, names, said(eval), said(eval, "1", {}, {}, {}), said(eval, "1 +")


def calls_of_any_descriptor():
    class Joins(type):
        __call__ = ":".join

    class Stands(type):
        __call__ = staticmethod(lambda *args: args)

    class A(metaclass=Joins):
        pass

    class B(metaclass=Stands):
        __call__ = staticmethod(lambda *args: args)

    class C:
        __call__ = classmethod(lambda cls, x: (cls.__name__, x))

    class D:
        __call__ = staticmethod(lambda *args: args)

    return A(["a", "b"]), B(1, 2), C()(3), D()(4)


class Sent:
    def __init__(self):
        self.got = []

    def __iter__(self):
        return self

    def __next__(self):
        return self.send(None)

    def send(self, value):
        self.got.append(value)
        if value == "stop":
            raise StopIteration("stopped")
        return len(self.got)

    def throw(self, *error):
        self.got.append("thrown")
        return -1


def what_is_sent_to_an_iterator():
    def delegates(it):
        result = yield from it
        yield result, it.got

    generator = delegates(Sent())
    seen = [next(generator), generator.send((1, 2)), generator.throw(ValueError), generator.send("stop")]
    plain = delegates(Counter(3))
    return seen, next(plain), said(plain.send, 1)


def what_is_searched_no_further():
    import operator

    items = iter("abcde")
    return operator.indexOf(items, "b"), operator.indexOf(items, "d"), said(operator.indexOf, items, "a")


def tuples_of_enums():
    class Colour(enum.Enum):
        RED = 1.5
        BLUE = 2.5

        @property
        def doubled(self):
            return self.value * 2

    return [colour.doubled for colour in Colour], Colour(1.5), Colour["BLUE"].name, said(Colour, 9)


def classes_of_a_metaclass_that_falls_back():
    class Fallback(type):
        def __getattr__(cls, name):
            return cls.__name__, name

    class Asked:
        def __get__(self, obj, owner=None):
            return "asked", obj is None, owner.__name__

    class Base(metaclass=Fallback):
        asked = Asked()
        joined = staticmethod("".join)

        @classmethod
        def named(cls):
            return cls.__name__

        @property
        def never(self):
            return 1

    class Derived(Base):
        pass

    class Member(enum.Enum):
        name = 1
        value = 2

    return (
        [
            (c.asked, c.joined("ab"), c.named(), type(c.never), c.missing, c.__init__ is object.__init__)
            for c in (Base, Derived)
        ],
        Member.name,
        Member.value,
        Member(1).value,
        list(Member),
    )


def modules_that_fall_back():
    class Lazy(types.ModuleType):
        def __getattr__(self, name):
            if name == "absent":
                raise AttributeError("lazily absent")
            return name

    module = Lazy("lazy")
    return module.loaded, module.__name__, said(getattr, module, "absent")


class Joined:
    def __radd__(self, other):
        return "joined", type(other).__name__

    def __rmul__(self, other):
        return "repeated", type(other).__name__

    def __iter__(self):
        return iter([5.0])

    def __index__(self):
        return 2


def sequences_that_are_asked_last():
    seen = []
    for base in (list, tuple, str, bytes, bytearray, collections.deque):
        for kind in (base, type(f"{base.__name__}s", (base,), {})):
            seen += [kind() + Joined(), kind() * Joined()]
            value = kind()
            value *= Joined()
            seen.append(value)
            if not (kind is not base and base is bytearray):
                value = kind()
                value += Joined()
                seen.append(value)
    return seen


def classes_prepared_wrongly():
    class Nothing(type):
        @classmethod
        def __prepare__(*args):
            return None

    class NoType:
        @classmethod
        def __prepare__(*args):
            return 3

    def made(kind):
        class Foo(metaclass=kind):
            pass

    return said(made, Nothing), said(made, NoType())


def methods_that_are_descriptors():
    import unittest.mock

    class GenLike:
        def send(self):
            pass

        def __iter__(self):
            pass

        def __next__(self):
            pass

    gen = unittest.mock.MagicMock(GenLike)
    gen.__iter__ = lambda gen: gen
    gen.__next__ = lambda gen: 7
    return next(gen), next(iter(gen)), gen.__next__()


class Odd(set):
    def __iter__(self):
        return iter([-1])


def sets_that_iterate_otherwise():
    odd, other, frozen = Odd([1, 2]), {7}, frozenset([8])
    other.update(odd)
    return other, {9}.union(odd), frozen.union(odd), {1}.issubset(odd), list.__class_getitem__(int), [*odd]


class Formatted:
    def __format__(self, spec):
        return "formatted"


def formats_that_are_no_texts():
    return (
        format(Formatted(), ">"),
        said(format, Formatted(), None),
        said(format, 1.5, 3),
        said(format, Formatted(), b""),
    )


PROGRAMS = {
    name: f
    for name, f in list(globals().items())
    if isinstance(f, types.FunctionType)
    and f.__module__ == __name__
    and name not in ("said", "lines_of", "outermost", "other")
}
