"""Programs over arrays of records, whose fields hold traced values."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import copy

import numpy as np
import numpy.lib.recfunctions as rfn
from program_table import V, Programs

program = Programs()
D = [("k", "i4"), ("x", float), ("v", float)]


def filled(x):
    a = np.zeros(3, dtype=D)
    a["x"] = x
    a["v"] = np.cos(x)
    a["k"] = [2, 0, 1]
    return a


@program(V)
def records_fields(x):
    a = filled(x)
    return (a["x"] * a["v"]).sum() + a["x"] @ a["v"] + a[1:]["x"][0] * a["v"][::-1][0]


@program(V)
def records_written(x):
    a = filled(x)
    y = a["x"]
    z = np.sin(y)
    a["x"][0] = 7.0
    a["v"] *= y
    a["x"][1:] += a["v"][:2]
    np.multiply(a["v"], x, out=a["x"])
    return (a["x"] * a["v"]).sum() + (y * z).sum()


@program(V)
def records_steps(x):
    a = filled(x)
    for i in range(3):
        a[i]["x"] = a[i - 1]["x"] * a[i]["v"]
        a["v"][i] = a["x"][i] ** 2
    return a["v"].sum()


@program(V)
def records_of_tuples(x):
    a = filled(x)
    a[1] = (5, x[0] * x[2], 2.0)
    a[2] = a[0]
    a[:1] = (1, x[1], x[1])
    b = np.array([(1, x[0], x[1]), tuple(a[1])], dtype=D)
    a[...] = [(1, 2.0, x[2]), (1, x[0], 3.0), (0, 0.5, x[1])]
    return (a["x"] * a["v"]).sum() + (b["x"] * b["v"] * b["k"]).sum() + a["k"].sum()


@program(V)
def record_alone(x):
    a = filled(x)
    r = a[1]
    c = r.copy()
    d = copy.copy(r)
    a["x"] = a["x"] * 3
    k, u, w = r
    r["v"] = x[0] * 2
    return (
        r["x"] * r[2]
        + u * w
        + c["x"] * d["v"]
        + r.item()[1] * a[2].tolist()[2]
        + sum(q["x"] for q in a)
        + np.array([a[0], r])["x"].prod()
    )


@program(V)
def records_copied(x):
    a = filled(x)
    b, c, d = a.copy(), copy.copy(a), np.array(a)
    e = np.concatenate([a, a[:1]])
    g = a[a["x"] > 0.5]
    h = a[[2, 0]]
    t = a.astype([("k", float), ("x", "f8"), ("v", complex)])
    n = np.zeros_like(a)
    n[1:] = a[:2]
    a[1:] = a[:-1]
    w = a["x"].copy()
    a["x"] = 0.0
    return (
        b["x"] @ c["v"]
        + d["x"][1] * e["v"][3]
        + g["x"].sum()
        + h["v"][0] * h["x"][1]
        + (t["v"] * t["x"]).sum().real
        + n["x"] @ n["v"]
        + w.prod()
        + len(a)
    )


@program(V)
def records_joined(x):
    a = filled(x)
    b = np.hstack([a, np.roll(a, 1)])
    c = np.where(a["x"] > 0.5, a, a[::-1])
    d = np.repeat(a, 2)
    return (
        (b["x"] * np.arange(6)).sum()
        + c["v"] @ c["x"]
        + d["x"].prod()
        + np.take(a, [1])["v"][0]
        + np.stack([a, a])["v"][1, 2]
    )


@program(V)
def records_views(x):
    a = np.zeros((2, 3), dtype=D)
    a["x"] = x
    b = a.T.reshape(3, 2)[::-1]
    a["v"][1] = x**2
    b["x"][0] = x[1] * 3
    f = a.reshape(-1)
    g = a[["x", "v"]]
    return (
        (a["x"] * a["v"]).sum()
        + f["v"].reshape(3, 2).T[1, 2] * b["x"][2, 1]
        + np.einsum("ij,kj", g["x"], a["v"]).sum()
        + np.diagonal(a["x"]).sum()
        + f[4]["x"]
    )


@program(V)
def records_nested(x):
    a = np.zeros(2, dtype=[("flag", bool), ("p", float, (3,)), ("in", [("q", "f4"), ("z", complex)]), ("n", "U3")])
    a["p"] = x
    a["p"][1, ::2] = x[1]
    a["in"]["z"] = x[0] * 1j + x[1]
    a[0]["in"]["q"] = 0.25
    a["n"] = "abc"
    b = a[::-1].copy()
    return (
        (a["p"] @ x).prod()
        + abs(b["in"]["z"] ** 2).sum()
        + a[1]["p"][0] * a[1]["in"]["z"].real
        + a["in"]["q"].sum()
        + len(b["n"][0])
    )


@program(V)
def records_with_attributes(x):
    a = np.rec.fromarrays([x, x * 2], names="p,q")
    a.p[1] = x[2]
    a.q = a.q * a.p
    a[0].q = x[1] * a[1].p
    b = np.rec.array(filled(x))
    b.x = b.x * b.v
    b[2]["v"] = b[0]["x"] + sum(r["v"] for r in b)
    return a.q.sum() + a[0].p * b[1].x + b.field("v").prod() + filled(x).view(np.recarray).x[1]


@program(V)
def records_as_indices(x):
    a = filled(x)
    y = x[a["k"]]
    a["k"] = 0
    a["k"][1] = 2
    return (y * a["x"]).sum() + x[a["k"]] @ a["v"]


@program(V)
def records_to_rows(x):
    a = filled(x)
    m = rfn.structured_to_unstructured(a[["x", "v"]])
    b = rfn.drop_fields(a, "k")
    c = np.fromiter(((1, v, v * v) for v in x), D)
    return (m.T @ m)[0, 1] + m[1, 1] + b["v"] @ b["x"] + c["v"].sum() * rfn.rename_fields(a, {"x": "y"})["y"][0]


@program(V)
def one_record(x):
    a = np.zeros((), dtype=D)
    a["x"] = x[0]
    a[...] = (1, a["x"] * 2, x[1])
    b = np.array((3, x[2], 1.0), dtype=D)
    return a["x"] * a[()]["v"] + b["x"] * b[()][0]


@program(V)
def no_records(x):
    a = filled(x * 0 + 1.0)[:0]
    b = filled(np.ones(3))
    b["x"] = 2.0
    return x.prod() + a["x"].sum() + (b["x"] * x).sum()


@program(V)
def records_by_keywords(x):
    a = filled(x)
    b = np.copy(a=a)
    c = np.roll(a=a, shift=1)
    d = np.take(a=a, indices=[1, 0])
    e = np.array(object=a)
    return b["x"] @ c["v"] + d["x"].prod() + e["v"] @ a["x"]
