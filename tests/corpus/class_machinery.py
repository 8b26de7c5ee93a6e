# fmt: off
# ruff: noqa
"""Class machinery inside a traced function, with traced values in each place that it calls back from."""

import abc
import collections
import dataclasses
import enum
import functools
import types
import typing

PROGRAMS = {}


def p(f):
    PROGRAMS[f.__name__] = f
    return f


@p
def enum_values(x):
    class E(enum.Enum):
        A = x*2
    return E.A.value*3
@p
def enum_float(x):
    class E(float, enum.Enum):
        A = x*2
    return E.A*3
@p
def enum_float_value(x):
    class E(float, enum.Enum):
        A = x*2
    return E.A.value*3
@p
def enum_init(x):
    class E(enum.Enum):
        A = (x, 2.0)
        def __init__(self, a, b): self.p = a*b
    return E.A.p
@p
def enum_new(x):
    class E(enum.Enum):
        A = x
        def __new__(cls, v):
            o = object.__new__(cls); o._value_ = v*v; return o
    return E.A.value
@p
def enum_functional(x):
    E = enum.Enum("E", {"A": x*2})
    return E.A.value*3
@p
def enum_init_closure(x):
    class E(enum.Enum):
        A = 1
        def __init__(self, a): self.p = a*x
    return E.A.p
@p
def enum_generate(x):
    class E(enum.Enum):
        def _generate_next_value_(name, start, count, last): return x*2
        A = enum.auto()
    return E.A.value
@p
def enum_property(x):
    class E(enum.Enum):
        A = 1
        @property
        def q(self): return x*self.value
    return E.A.q
@p
def enum_missing(x):
    class E(enum.Enum):
        A = 1
        @classmethod
        def _missing_(cls, v):
            cls.seen = x*2
            return cls.A
    E(5); return E.seen
@p
def mro_entries(x):
    class B: pass
    class D:
        def __mro_entries__(self, bases):
            B.k = x*3
            return (B,)
    class C(D()): pass
    return C.k
@p
def mro_entries_state(x):
    class B: k=1.0
    class D:
        def __init__(self,v): self.v=v
        def __mro_entries__(self, bases):
            class N(B): k=self.v*self.v
            return (N,)
    class C(D(x)): pass
    return C.k
@p
def set_name_partial(x):
    got={}
    class D:
        def __init__(self,v): self.v=v
    def sn(v, owner, name): got[name]=v*x
    class F: 
        __set_name__ = functools.partial(sn, 3.0)
    class C: a=F()
    return got.get("a", 0.0)
@p
def set_name_fn(x):
    class F:
        def __init__(self,v): self.v=v
        def __set_name__(self, owner, name): owner.z = self.v*2
    class C: a=F(x)
    return C.z
@p
def set_name_callable_obj(x):
    class Call:
        def __init__(self,v): self.v=v
        def __call__(self, owner, name): owner.z = self.v*2
    class F: pass
    F.__set_name__ = Call(x)
    class C: a=F()
    return C.z
@p
def set_name_staticmethod(x):
    class F:
        @staticmethod
        def __set_name__(owner, name): owner.z = x*2
    class C: a=F()
    return C.z
@p
def set_name_lambda_closure(x):
    class F: pass
    F.__set_name__ = lambda self, owner, name: setattr(owner,"z",x*2)
    class C: a=F()
    return C.z
@p
def set_name_classmethod(x):
    class F:
        @classmethod
        def __set_name__(cls, owner, name): owner.z = x*2
    class C: a=F()
    return C.z
@p
def init_subclass(x):
    class B:
        def __init_subclass__(cls, k=1.0): cls.k=k*k
    class C(B, k=x): pass
    return C.k
@p
def init_subclass_closure(x):
    class B:
        def __init_subclass__(cls): cls.k=x*x
    class C(B): pass
    return C.k
@p
def init_subclass_super(x):
    class A:
        def __init_subclass__(cls, **kw): super().__init_subclass__(**kw); cls.k=x*x
    class B(A):
        def __init_subclass__(cls, **kw): super().__init_subclass__(**kw); cls.j=cls.k*2
    class C(B): pass
    return C.j
@p
def init_subclass_partial(x):
    class B: pass
    def isc(v, cls=None, **k): pass
    got=[]
    B.__init_subclass__ = classmethod(functools.partial(lambda v, cls: got.append(v*2), x))
    class C(B): pass
    return got[0]
@p
def init_subclass_static(x):
    got=[]
    class B:
        pass
    B.__init_subclass__ = staticmethod(lambda: got.append(x*2))
    class C(B): pass
    return got[0]
@p
def type_call_init_subclass(x):
    class B:
        def __init_subclass__(cls): cls.k=x*x
    C=type("C",(B,),{})
    return C.k
@p
def new_class(x):
    class B:
        def __init_subclass__(cls, k): cls.k=k*x
    C=types.new_class("C",(B,),{"k":x})
    return C.k
@p
def new_class_exec(x):
    C=types.new_class("C",(),{}, lambda ns: ns.update(a=x*x))
    return C.a
@p
def prepare(x):
    class M(type):
        @classmethod
        def __prepare__(m, name, bases): return {"a": x*x}
    class C(metaclass=M): b = a*2
    return C.b
@p
def prepare_mapping(x):
    class NS(dict):
        def __setitem__(self, k, v):
            dict.__setitem__(self, k, v*x if isinstance(v, float) else v)
    class M(type):
        @classmethod
        def __prepare__(m, name, bases): return NS()
        def __new__(m,n,b,ns): return type.__new__(m,n,b,dict(ns))
    class C(metaclass=M): b = 2.0
    return C.b
@p
def prepare_missing(x):
    class NS(dict):
        def __missing__(self, k):
            if k.startswith("v"): return x*2
            raise KeyError(k)
    class M(type):
        @classmethod
        def __prepare__(m, name, bases): return NS()
        def __new__(m,n,b,ns): return type.__new__(m,n,b,dict(ns))
    class C(metaclass=M): b = vv*3
    return C.b
@p
def meta_call(x):
    class M(type):
        def __call__(cls, *a):
            o = super().__call__(*a); o.k = x*x; return o
    class C(metaclass=M): pass
    return C().k
@p
def meta_new(x):
    class M(type):
        def __new__(m,n,b,ns,**k):
            ns["k"]=x*ns["v"]; return super().__new__(m,n,b,ns)
    class C(metaclass=M): v=x
    return C.k
@p
def meta_init(x):
    class M(type):
        def __init__(c,n,b,ns,**k): c.k=x*x
    class C(metaclass=M): pass
    return C.k
@p
def meta_function(x):
    def m(n,b,ns): return x*ns["a"]
    class C(metaclass=m): a=2.0
    return C
@p
def meta_getattr(x):
    class M(type):
        def __getattr__(c,n): return x*2
    class C(metaclass=M): pass
    return C.foo
@p
def meta_ops(x):
    class M(type):
        def __mul__(c,o): return x*o
        def __getitem__(c,o): return x*o
        def __len__(c): return 3
        def __iter__(c): return iter([x,x*2])
        def __contains__(c,o): c.s=x*o; return True
    class C(metaclass=M): pass
    a,b=C
    2.0 in C
    return C*2.0+C[3.0]+b+C.s
@p
def abstract_reg(x):
    class A(abc.ABC):
        @abc.abstractmethod
        def f(self): ...
        def g(self): return self.f()*2
    class C(A):
        def f(self): return x*x
    return C().g()
@p
def abc_subclasshook(x):
    class A(abc.ABC):
        @classmethod
        def __subclasshook__(cls, c): A.k=x*2; return True
    class C: pass
    isinstance(C(), A)
    return A.k
@p
def instancecheck(x):
    class M(type):
        def __instancecheck__(c,o): c.k=x*2; return True
    class C(metaclass=M): pass
    isinstance(3,C)
    return C.k
@p
def dataclass_default(x):
    @dataclasses.dataclass
    class D:
        a: float = x*2
        b: float = dataclasses.field(default=x*x)
        c: float = dataclasses.field(default_factory=lambda: x*3)
    d=D(); return d.a+d.b+d.c
@p
def dataclass_post(x):
    @dataclasses.dataclass
    class D:
        a: float
        def __post_init__(self): self.b=self.a*x
    return D(x).b
@p
def dataclass_initvar(x):
    @dataclasses.dataclass
    class D:
        a: float
        s: dataclasses.InitVar[float] = x*2
        def __post_init__(self, s): self.b=self.a*s
    return D(x).b
@p
def dataclass_slots(x):
    @dataclasses.dataclass(slots=True, frozen=True)
    class D:
        a: float = x*2
    return D().a
@p
def dataclass_order(x):
    @dataclasses.dataclass(order=True)
    class D:
        a: float
    return max(D(x),D(2*x)).a
@p
def make_dataclass(x):
    D=dataclasses.make_dataclass("D",[("a",float,x*2)])
    return D().a
@p
def dc_replace(x):
    @dataclasses.dataclass
    class D:
        a: float
        b: float = 1.0
        def __post_init__(self): self.c=self.a*x
    return dataclasses.replace(D(x), b=2.0).c
@p
def namedtuple_default(x):
    class N(typing.NamedTuple):
        a: float = x*2
    return N().a
@p
def coll_namedtuple(x):
    N=collections.namedtuple("N","a b",defaults=[x*2])
    return N(1.0).b
@p
def typeddict(x):
    class T(typing.TypedDict):
        a: float
    return T(a=x*2)["a"]
@p
def property_in_body(x):
    class C:
        y=x*2
        @property
        def p(self): return self.y*x
    return C().p
@p
def cached_prop(x):
    class C:
        @functools.cached_property
        def p(self): return x*x
    return C().p
@p
def class_getitem(x):
    class C:
        def __class_getitem__(cls,k): return x*k
    return C[2.0]
@p
def body_expr(x):
    class C:
        a=x*x; b=[a*i for i in (1.0,)][0] if False else a
        def f(self,d=x*2): return d
    return C.b+C().f()
@p
def decorator_class(x):
    def deco(c): c.k=x*x; return c
    @deco
    class C: pass
    return C.k
@p
def total_ordering(x):
    @functools.total_ordering
    class C:
        def __init__(s,v): s.v=v
        def __eq__(s,o): return s.v==o.v
        def __lt__(s,o): s.w=s.v*2; return s.v<o.v
    a=C(x); a>=C(x*2); return a.w
@p
def singledispatch(x):
    @functools.singledispatch
    def g(v): return v*2
    @g.register
    def _(v: float): return v*3
    return g(x)
@p
def metaclass_enum_meta(x):
    class M(enum.EnumMeta):
        def __call__(cls, *a, **k):
            cls.k=x*2
            return super().__call__(*a, **k)
    class E(enum.Enum, metaclass=M):
        A=1
    E(1)
    return E.k
@p
def intflag(x):
    class F(enum.IntFlag):
        A=1; B=2
    return x*int(F.A|F.B)
@p
def dynamic_attr_enum(x):
    class E(enum.Enum):
        A=1; B=2
        def w(self): return self.value*x
    return sum(e.w() for e in E)
@p
def match_args(x):
    class C:
        __match_args__=("a",)
        @property
        def a(self): return x*2
    match C():
        case C(v): return v
@p
def super_new_kwargs(x):
    class A:
        def __new__(cls, v): o=super().__new__(cls); o.v=v*x; return o
    class B(A):
        def __init__(self, v): self.w=self.v*v
    return B(x).w
@p
def float_sub(x):
    class F(float):
        def __new__(cls, v): o=float.__new__(cls, v*2); return o
    return F(x)*3
@p
def float_sub_plain(x):
    class F(float): pass
    return F(x*2)*3
@p
def tuple_sub(x):
    class T(tuple):
        def __new__(cls, *v): return tuple.__new__(cls, [i*2 for i in v])
    return T(x,x)[0]


class Seen(enum.Enum):
    A = 1

    @classmethod
    def _missing_(cls, v):
        cls.seen = v * 2
        return cls.A


@p
def enum_missing_given(x):
    Seen(x)
    return Seen.seen


@p
def enum_looked_up(x):
    return x * Seen(1).value
