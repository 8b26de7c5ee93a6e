"""Programs in which a value passes through copies and texts, for `test_opaque`."""

# ruff: noqa (each is a line or two as a user would write it)

from __future__ import annotations

import ast
import copy
import copyreg
import csv
import decimal
import fractions
import io
import json
import marshal
import os
import pickle
import pprint
import re
import sqlite3
import string
import textwrap

import numpy as np
from opaque_table import Cases

cases = Cases()
number, vector = cases.number, cases.vector


class Box:
    def __init__(self, v):
        self.v = v


class Reduced(Box):
    def __reduce__(self):
        return Reduced, (self.v * 2,)


class State(Box):
    def __getstate__(self):
        return {"v": self.v * 3}

    def __setstate__(self, state):
        self.v = state["v"] + 1


class Registered(Box):
    pass


copyreg.pickle(Registered, lambda r: (Registered, (r.v * 5,)))


# -- copies and pickles


@number
def copied_by_reduce(x):
    return copy.copy(Reduced(x)).v * copy.deepcopy(Reduced(x)).v


@number
def copied_by_state(x):
    return copy.copy(State(x)).v * copy.deepcopy(State(x)).v


@number
def copied_by_the_copy_registry(x):
    return copy.copy(Registered(x)).v


@number
def pickled_object(x):
    return pickle.loads(pickle.dumps(Box(x))).v


@vector
def pickled_array_by_hand(x):
    f, args, state = x.__reduce__()
    a = f(*args)
    a.__setstate__(state)
    return a.sum()


@number
def marshalled(x):
    return marshal.loads(marshal.dumps(x))


@number
def python_pickler(x):
    out = io.BytesIO()
    pickle._Pickler(out).dump([x])
    return pickle._Unpickler(io.BytesIO(out.getvalue())).load()[0]


# -- text and back


@number
def parsed_after_stripping(x):
    return float(f" {x} ".strip())


@number
def parsed_after_joining(x):
    return float("".join([str(x), "e0"]))


@number
def parsed_by_complex(x):
    return complex(str(x)).real


@number
def parsed_after_encoding(x):
    return float(repr(x).encode().decode())


@number
def parsed_by_literal_eval(x):
    return ast.literal_eval(repr(x))


@number
def parsed_by_json(x):
    return json.loads(f"[{x}]")[0]


@number
def found_by_a_pattern(x):
    return float(re.match(r"[\d.]+", str(x)).group())


@number
def parsed_template(x):
    return float(string.Template("$v").substitute(v=x))


@number
def parsed_formatter(x):
    return float(string.Formatter().format("{}", x))


@number
def parsed_digits(x):
    return int(str(x)[0]) + float(str(x)[1:])


@number
def parsed_map(x):
    return sum(map(float, f"{x} {x * 2}".split()))


@number
def parsed_pretty(x):
    return float(pprint.pformat(x))


@number
def parsed_wrapped_text(x):
    return float(textwrap.dedent(f"  {x}"))


@number
def parsed_decimal(x):
    return float(decimal.Decimal(str(x)) * 2)


@number
def parsed_fraction(x):
    return float(fractions.Fraction(str(x)))


@vector
def parsed_array_text(x):
    return np.fromstring(np.array2string(x)[1:-1], sep=" ").sum()


@vector
def array_of_texts(x):
    return np.array([str(v) for v in x]).astype(float).sum()


@vector
def cast_to_text_and_back(x):
    return x.astype(str).astype(float).sum()


@number
def parsed_scientific(x):
    return float(np.format_float_scientific(x))


@vector
def parsed_repr_of_an_array(x):
    return eval(np.array_repr(x), {"array": np.array}).sum()


@number
def parsed_positional(x):
    return float(np.format_float_positional(x))


@number
def written_to_a_stream_and_read(x):
    out = io.StringIO()
    out.write(str(x))
    return float(out.getvalue())


@number
def printed_to_a_stream_and_read(x):
    out = io.StringIO()
    print(x, x * 2, file=out)
    out.seek(0)
    return sum(float(word) for word in out.read().split())


@number
def printed_lines(x):
    out = io.StringIO()
    print(x, file=out)
    print(x * 2, file=out)
    return sum(float(line) for line in out.getvalue().splitlines())


@number
def comma_separated(x):
    out = io.StringIO()
    csv.writer(out).writerow([x, 2.0])
    return float(next(csv.reader([out.getvalue()]))[0])


@number
def through_the_environment(x):
    os.environ["WENGERT_TEST"] = str(x)
    return float(os.environ.pop("WENGERT_TEST"))


@number
def through_a_database(x):
    with sqlite3.connect(":memory:") as db:
        return db.execute("select ? * 2", (x,)).fetchone()[0]


@number
def length_of_the_text(x):
    return len(f"{x:.3f}") * x
