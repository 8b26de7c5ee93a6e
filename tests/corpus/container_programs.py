"""Programs over containers and algorithms of the standard library."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import bisect
import collections
import collections.abc
import contextvars
import copy
import heapq
import itertools
import operator
import queue
import random
import re
import statistics
import string
import weakref

from program_table import Programs

program = Programs()

# -- containers and algorithms


@program(1.3, 0.4)
def collections_more(x, y):
    counts = collections.Counter({"a": x, "b": y})
    counts.update({"a": y})
    counts.subtract({"b": 1.0})
    merged = counts + collections.Counter(c=x * y)
    chain = collections.ChainMap({"a": x}, {"a": y, "b": y})
    deep = chain.new_child({"b": x * 3})
    nested = collections.defaultdict(lambda: collections.defaultdict(float))
    nested["k"]["l"] += x
    nested["k"]["l"] *= y
    queue = collections.deque([x, y, 2.0], maxlen=3)
    queue.extend([x * y])
    queue.extendleft([y])
    ulist = collections.UserList([x, y])
    ulist.append(x * 2)
    ordered = collections.OrderedDict(a=x, b=y)
    ordered.move_to_end("a")
    return (
        merged["a"] * merged["c"] + counts["b"] + deep["b"] + chain["a"] + nested["k"]["l"] + queue[0] * queue[-1]
        + sum(ulist[1:]) + ordered.popitem()[1] + counts.most_common(1)[0][1] + sum(reversed(queue))
    )  # fmt: skip


@program(1.3, 0.4, 0.9)
def heaps_and_bisection(x, y, z):
    heap = [x, y, z, x * y]
    heapq.heapify(heap)
    heapq.heappush(heap, z * z)
    first = heapq.heappop(heap)
    second = heapq.heapreplace(heap, x * 4)
    third = heapq.heappushpop(heap, 2.0)
    largest = heapq.nlargest(2, [x, y, z], key=lambda v: -v)
    merged = list(heapq.merge([y, x], [z, 5.0]))
    table = sorted([x, y, z])
    k = bisect.bisect_left(table, 0.5)
    bisect.insort(table, x * z)
    tasks = []
    for priority, v in ((2, x), (1, y), (3, z)):
        heapq.heappush(tasks, (priority, v))
    return (
        first * second + third + largest[0] + merged[1] * merged[2] + table[k] + table[-2] + heapq.heappop(tasks)[1]
        + bisect.bisect(table, x, key=lambda v: v) + heapq.nsmallest(1, heap)[0]
    )  # fmt: skip


@program(1.3, 0.4, 0.9)
def statistics_of_numbers(x, y, z):
    return (
        statistics.fmean([x, y, z]) + statistics.median([x, y, z]) * statistics.mean([x, y])
        + statistics.pvariance([x, y, z]) + statistics.stdev([x, y, z]) + statistics.fmean([x, y], [z, 1.0])
    )  # fmt: skip


@program(1.3, 0.4)
def sorting_by_keys_and_callbacks(x, y):
    people = [{"n": "a", "v": x}, {"n": "b", "v": y}, {"n": "c", "v": x * y}]
    people.sort(key=operator.itemgetter("v"))
    names = {p["n"]: p["v"] for p in sorted(people, key=lambda p: (len(p["n"]), -p["v"]), reverse=True)}
    total = sum(k * v for k, v in enumerate(names.values(), 1))
    found = re.sub("[ab]", lambda m: str(len(m.group())), "abc")
    values = iter([x, y, 0.0, 5.0])
    total += sum(iter(lambda: next(values), 0.0)) * len(found)
    total += max(people, key=lambda p: p["v"] ** 2)["v"] + min([x, y], key=lambda v: abs(v - 1))
    return (
        total
        + sum(map(lambda p, k: p["v"] * k, people, itertools.count(1)))
        + len(string.Template("$a").substitute(a=1))
    )


@program(1.3, 0.4)
def copies_of_objects(x, y):
    class Node:
        def __init__(self, v, *children):
            self.v, self.children = v, list(children)

        def __copy__(self):
            return Node(self.v * 2, *self.children)

        def __deepcopy__(self, memo):
            return Node(self.v * 3, *copy.deepcopy(self.children, memo))

    tree = Node(x, Node(y), Node(x * y))
    shallow, deep = copy.copy(tree), copy.deepcopy(tree)
    tree.children[0].v = 7.0
    table = copy.deepcopy({"a": [x, {"b": y}]})
    return shallow.v * shallow.children[0].v + deep.v * deep.children[0].v + table["a"][0] * table["a"][1]["b"]


@program(1.3)
def random_numbers_of_python(x):
    rng = random.Random(7)
    total = rng.gauss(x, 2.0) + rng.uniform(x, x * 2) + rng.random() * x + rng.choice([x, x * x, 3.0])
    total += rng.normalvariate(1.0, x) + rng.expovariate(x) + sum(rng.sample([x, 1.0, x * 2], 2)) + rng.triangular(0, x)
    items = [x, x * 2, x * 3]
    rng.shuffle(items)
    return total + items[0] * items[1] + rng.choices([x, 1.0], k=2)[0] + rng.betavariate(2.0, 3.0) * x


@program(1.3, 0.4)
def variables_of_contexts_and_queues(x, y):
    scale = contextvars.ContextVar("scale", default=2.0)
    token = scale.set(x * scale.get())
    inner = contextvars.copy_context()

    def within(v):
        scale.set(v * scale.get())
        return scale.get() * y

    first = inner.run(within, y)
    outside = scale.get()
    scale.reset(token)
    line = queue.SimpleQueue()
    line.put(x * y)
    line.put(scale.get() * x)
    ordered = queue.PriorityQueue()
    for value in (x, y, x * y):
        ordered.put((value, value * 2))
    return first + outside * 3 + inner[scale] * x + line.get() / line.get() + ordered.get()[1]


@program(1.3, 0.4)
def closures_in_weak_references_and_callbacks(x, y):
    class Event:
        def __init__(self):
            self.handlers = []

        def __iadd__(self, handler):
            self.handlers.append(handler)
            return self

        def fire(self, v):
            return [h(v) for h in self.handlers]

    class Listener:
        def __init__(self, scale):
            self.scale = scale

        def on(self, v):
            return v * self.scale

    listener, event = Listener(x), Event()
    event += listener.on
    event += weakref.WeakMethod(listener.on)()
    event += lambda v, by=y: v**by
    cache = weakref.WeakValueDictionary(a=listener)
    return sum(event.fire(y)) + cache["a"].scale
