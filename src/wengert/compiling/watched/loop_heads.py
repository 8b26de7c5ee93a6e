"""Heads of loops in a watched trace: they compare the state of the program with that of the iteration before.

If only traced numbers and arrays differ, every iteration computes the same function of these. A Head on the tape tells
so, and `compiling/loops/branch_tree.py` makes a dynamic loop of it.
"""

from __future__ import annotations

import itertools
import operator
import sys
import types
from bisect import bisect
from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.compiling.constants import constant_key
from wengert.compiling.loops.deferred_reverse import LEAST_ENTRIES
from wengert.compiling.watched.choices import choose, tell
from wengert.compiling.watched.counter_lookups import CounterLookups
from wengert.compiling.watched.filled_lists import FilledLists
from wengert.compiling.watched.item_stores import ItemStores
from wengert.compiling.watched.lifting import (
    LIFTABLE,
    FilledList,
    GrowingList,
    Lifts,
    LoopKey,
    Place,
    RestartError,
    VariableName,
    constants_that_differ,
    is_past,
    keeps_types,
    numbers_set_in,
    part_at,
    set_part,
    with_lifts,
)
from wengert.compiling.watched.loop_states import (
    COMPREHENSION,
    MOST_PARTS,
    IncomparableError,
    StateWalk,
    frames_of,
    grown_lists,
    local_variables,
    sees_end,
)
from wengert.compiling.watched.marks import Head, Join, LoopRun, LoopState, Mark, describe_difference
from wengert.compiling.watched.records import ItemIndex
from wengert.compiling.watched.retyped_floats import RetypedFloats, keeps_float
from wengert.compiling.watched.separate_numbers import separate
from wengert.compiling.watched.straight_joins import StraightJoins
from wengert.compiling.watched.symbolic_ints import float_of, lift_constant, record_integer_call, refuse_counter
from wengert.compiling.watched.symbolic_iterators import (
    SYMBOLIC_ITERATORS,
    column_reader,
    may_be_symbolic,
    symbolic_iterator,
)
from wengert.hooks.code_swap import HOOKS
from wengert.hooks.items import gathered
from wengert.recording.primitives import Primitive, ruled
from wengert.recording.record import record_call
from wengert.recording.recording import STATE, Level, flat_slots
from wengert.recording.slots import slot_of
from wengert.rewrite.kept_twins import after_calls
from wengert.rewrite.loop_head import LoopHead
from wengert.values.codes import original
from wengert.values.sites import Site
from wengert.values.views import owner_of

MOST_IRREGULAR = 10
"""After how many iterations that all differ no joins are looked for in a loop."""
FEW_LEFT, MOST_EARLY = 8, 5
"""A trace begins again for a loop with more iterations left than this, and after at most so many, or half of them."""
MOST_DEPTH = 16
"""How far from its end a counter may index a list that grows."""
MOST_FORMS = 20
"""The largest number of earlier states of a loop with which one is compared."""


class Heads:
    """The loops that a trace has entered, and their heads."""

    def __init__(self, reads: Any) -> None:
        self.reads = reads
        self.draws, self.written_like = reads.draws, reads.recording.memory.written_like
        self.seen = 0
        self.stores: Any = ItemStores(reads.recording)
        self.separates = False  # whether variables that held one float hold equal ones now
        self.compares_identity = False  # whether the code compared the identity of a thing that states compare by value
        self.reversed_levels: list[Level] = []  # the level of each Reverse on the tape
        self.loops: dict[tuple[int, int], tuple[LoopRun, LoopState | None]] = {}
        self.filled: dict[tuple[int, int], list[Any]] = {}  # the list that a comprehension fills, by its frame and head
        self.forms: dict[Any, dict[Any, int]] = {}  # numbered, of the states at heads and statements of loops
        self.alive: dict[int, Any] = {}  # the things whose ids are in forms
        self.input_owners, self.known_inputs = set[int](), 0  # of the arrays among the first inputs
        self.lifts: Lifts = {}
        self.lifted_before: Lifts = {}  # in an earlier trace
        self.lifted_loops: list[LoopRun] = []  # loops for which variables are lifted
        self.calls: dict[int, Any] = {}  # what is known about the code after calls, by the ids of the codes
        self.integers: set[int | None] = set()  # the slots of floats that were lifted from integers
        self.constants: dict[Any, Any] = {}  # lifted numbers, by the variable and the constant
        self.choices: dict[Place, list[Any]] = {}  # the constants that stood at a place, in the order of their numbers
        self.retyped = RetypedFloats()
        self.began: dict[Place, set[float]] = {}  # the floats with which variables begin that become np.float64
        self.tables: list[tuple[Any, Any, int]] = []  # from which loops read the arrays of lists, these, and since when
        self.readers: dict[int, Any] = {}  # of lists and tuples, by id, with what they held
        self.records: dict[int, Any] = {}  # by the ids of their stand-ins
        self.lists: Any = FilledLists(self)
        self.lookups: Any = CounterLookups(self)
        self.straight: Any = StraightJoins(self)
        self.indexed: dict[int, Any] = {}  # lists that loops append to and index by counters, by id, with the loop
        self.lifted_slots: dict[Any, LoopKey] = {}  # the loops whose counters begin in these slots
        self.counters: list[Any] = []  # kept alive here: the shadow table keeps only ids
        self.liftable: dict[LoopRun, tuple[LoopKey, dict[Place, type]]] = {}  # only constants change in these
        self.guesses: Lifts = {}  # what inner loops may change of which no run had a second iteration
        self.restarts: Any = None  # whether the trace may begin again, with more lifts
        self.refusal = ""  # where a lifted number is used otherwise than in arithmetic

    def enter_loop(self, frame: types.FrameType, head: LoopHead, iterator: list[Any], selects: bool = False) -> Any:
        """Enter a loop, which may run over a selection; return the iterator that a `for` uses, None for other loops."""
        self.loops.pop((id(frame), head.number), None)  # of an earlier frame with this id
        if head.fills < 0 and not self._is_gathered(frame, head):
            return iterator[0] if iterator else None
        loop = LoopRun(len(self.reads.recording.entries), (original(frame.f_code) or frame.f_code, head.number))
        loop.length = operator.length_hint(iterator[0]) if iterator else 0
        loop.has_test = selects  # the number of its iterations is one
        has_number = selects or getattr(iterator[0] if iterator else None, "number", None) is not None
        may_grow = head.fills >= 0 and loop.key not in self.reads.effects.learned.unfilled
        loop.grows = may_grow and (head.breaks or has_number or not head.is_for)
        self.retyped.begin = self.retyped.begin or loop.begin
        self.loops[id(frame), head.number] = loop, None
        is_generator = bool(iterator) and type(iterator[0]) is types.GeneratorType
        if is_generator and self.restarts and not may_be_symbolic(self.reads.recording, iterator[0]):
            self.restarts.are_possible = False  # if its function ends early, so does the generator
        if loop.key in self.lifts:
            self.lifted_loops.append(loop)
            made = None
            if iterator and not _only_counts(head, iterator):
                made = symbolic_iterator(self.reads.recording, iterator[0])
            if made is not None:
                loop.counted_by = made
                loop.grown = grown_lists(head, loop)
                self.lifted_slots.update({slot_of(self.reads.recording, x): loop.key for x in made.counters})
                return made
        return iterator[0] if iterator else None

    def _is_gathered(self, frame: types.FrameType, head: LoopHead) -> bool:
        """Note the list that gathers what a generator yields; return False if C code or a loop takes the items."""
        consumer = frame.f_back
        if consumer is None or consumer.f_code is not gathered.__code__:
            return False
        self.filled[id(frame), head.number] = consumer.f_locals["found"]
        self.lists.gathered.append(consumer.f_locals["found"])
        return True

    def begin_iteration(self, frame: types.FrameType, head: LoopHead, iterator: list[Any], site: Site | None) -> None:
        """Record the head of an iteration; that of a `for` has an iterator."""
        key = id(frame), head.number
        loop, before = self.loops.get(key, (None, None))
        if loop is None or self.seen > MOST_PARTS:
            return
        begin, loop.end = loop.end, len(self.reads.recording.entries)
        loop.seen[head.place] = loop.end
        loop.makes_lists |= not head.fills and self.stores.last > loop.begin
        loop.sizes.append(loop.end - begin)
        loop.jumps |= self.stores.last_jump > loop.begin and loop.length * loop.sizes[-1] > LEAST_ENTRIES // 4
        if head.is_for and not _only_counts(head, iterator) and type(iterator[0]) not in SYMBOLIC_ITERATORS:
            if loop in self.liftable or may_be_symbolic(self.reads.recording, iterator[0]):
                self.liftable[loop] = loop.key, {}
                self.restart_if_needed(frame, loop, iterator)
            return
        chosen: dict[Place, Any] = {}
        self.lists.catch_up(self.filled.get(key))
        try:
            lifted = self.lift(frame, self.lifts.get(loop.key, {}), loop.key, not head.is_for)
            lifted |= separate(self, frame, head, loop, is_first=before is None)
            if self.reads.swapped.are_changed(self.reads.recording):
                raise IncomparableError("the content of a container from outside the function")
            chosen = choose(self, frame, self.lifts.get(loop.key, {}))
            state = StateWalk(self).state(frame, head, iterator, loop, chosen)
            self.retyped.carried.update(state.slots)
        except IncomparableError as unknown:
            state, difference, lifted = LoopState({}, ()), f"it may change {unknown}", set()
        else:
            difference = (
                "it ran too few iterations to compare them" if before is None else describe_difference(before, state)
            )
            names = constants_that_differ(before.forms, state.forms) if difference and before is not None else {}
            if names:
                self.liftable.setdefault(loop, (loop.key, {}))[1].update(names)
                loop.keeps_types &= before is not None and keeps_types(names, before.forms)
            elif difference and before is not None:
                self.liftable.pop(loop, None)  # lifting does not remove this difference
        if before is not None or loop.key in self.guesses or not self._is_nested(loop):
            self.guesses[loop.key] = self.guesses.get(loop.key, {}) if before is None else {}
        else:
            self.guesses[loop.key] = numbers_set_in(frame, head, lambda x: slot_of(self.reads.recording, x) is not None)
        self.loops[key] = loop, state
        if loop.counted_by is not None:
            loop.counters = {slot_of(self.reads.recording, x) for x in loop.counted_by.counters}
        left = operator.length_hint(iterator[0]) if iterator else None
        if loop in self.liftable:
            self.restart_if_needed(frame, loop, iterator)
        number = getattr(iterator[0], "number", None) if iterator and type(iterator[0]) in SYMBOLIC_ITERATORS else None
        slots = state.slots if number is None else (*state.slots, slot_of(self.reads.recording, number))
        primitive = Primitive(Head(loop, difference, left, self, state, number is not None, lifted), None, "guard")
        self.reads.recording.append((primitive, None, slots, (), None, site))
        is_over = loop.is_over = left == 0 and head.is_for
        if is_over:
            self.indexed = {key: found for key, found in self.indexed.items() if found[1] is not loop}
        tell({place: made for place, made in chosen.items() if not (is_over and is_past(head, place))})

    def begin_statement(self, frame: types.FrameType, head: LoopHead, site: Site | None) -> None:
        """Record that paths may join here, if there was a test since they parted."""
        loop, _ = self.loops.get((id(frame), head.number), (None, None))
        entries = self.reads.recording.entries
        if loop is None:
            return
        begin, loop.seen[head.place] = loop.seen.get(head.since, loop.begin), len(entries)
        if loop.irregular > MOST_IRREGULAR or self.seen > MOST_PARTS or not _has_test(entries[begin:]):
            return
        if self.reads.swapped.are_changed(self.reads.recording):
            return
        try:
            self.lift(frame, self.lifts.get(loop.key, {}), loop.key)
            separate(self, frame, head, loop, is_first=False)
            state = StateWalk(self).state(frame, head, [], loop, {})
        except IncomparableError:
            return
        mark = Join(loop, head.place, self.number_of_forms((loop.key, head.place), state.forms))
        self.reads.recording.append((Primitive(mark, None, "guard"), None, state.slots, (), None, site))

    def follow(self, earlier: Heads) -> None:
        """Number forms as an earlier trace does, and lift what it lifted."""
        self.forms, self.alive, self.lifted_before = earlier.forms, earlier.alive, earlier.lifts
        self.choices = earlier.choices

    def let_go(self) -> None:
        """Keep only what is asked of heads when the trace has ended."""
        self.reads = None
        self.lists = self.lookups = self.straight = self.stores = None
        self.loops, self.constants, self.liftable, self.filled = {}, {}, {}, {}
        self.counters, self.tables, self.readers, self.records, self.indexed = [], [], {}, {}, {}

    def owners_of_inputs(self) -> set[int]:
        """Return the ids of the owners of the memory of inputs, which only become more."""
        inputs = self.reads.inputs
        if len(inputs) > self.known_inputs:
            more = [outer.traced for outer in itertools.islice(inputs.values(), self.known_inputs, None)]
            self.input_owners |= {id(owner_of(made)) for made in more if isinstance(made, np.ndarray)}
            self.known_inputs = len(inputs)
        return self.input_owners

    def id_of(self, thing: Any) -> int:
        """Return the id of a thing, which lives as long as the forms of states."""
        self.alive[id(thing)] = thing
        return id(thing)

    def number_of_forms(self, key: Any, forms: dict[VariableName, Any]) -> int:
        """Return the number of these forms of the variables at a place; equal ones have the same number."""
        known, one = self.forms.setdefault(key, {}), frozenset(forms.items())
        if one not in known:
            known[one] = next(reversed(known.values()), -1) + 1
            if len(known) > MOST_FORMS:
                del known[next(iter(known))]
        return known[one]

    def lift(
        self, frame: types.FrameType, kinds: dict[Place, type], loop: LoopKey, steps: bool = False
    ) -> set[int | None]:
        """Replace the values at these places, if they are constants, by values that the tape computes from here on.

        With `steps`, each integer is the result of a step, which nothing else holds; return the slots of these.
        """
        frames, alone = [*frames_of(frame)] if kinds else [], set[int | None]()
        for place, kind in sorted(kinds.items(), key=lambda item: item[0]):
            depth, function, name = place.variable
            f = frames[depth] if depth < len(frames) else frame
            held = f.f_locals.get(name)
            if name == COMPREHENSION and issubclass(kind, GrowingList):
                held = self.filled.get((id(f), loop[1]))
            value: Any = part_at(held, place.path) if f.f_code.co_name == function else None
            slot = slot_of(self.reads.recording, value)
            if slot is not None:
                if keeps_float(type(value), kind) and self._is_plain_float(slot):
                    made = record_call(ruled(kind), (value,), {})
                    set_part(f, place, self.retype(place, made, 0.0))
                elif place in self.began:
                    self.retyped.note(self.reads.recording, slot, self.began[place])
            elif kind in LIFTABLE and type(value) in LIFTABLE:
                made = self.lift_number(place, value, kind, loop)
                if kind is int and steps:
                    made = record_integer_call(operator.pos, made)
                    alone.add(slot_of(self.reads.recording, made))
                set_part(f, place, self.retype(place, made, value) if keeps_float(type(value), kind) else made)
            elif issubclass(kind, np.ndarray) and type(value) is np.ndarray and value.size and value.flags.writeable:
                first = (0,) * value.ndim
                HOOKS["setitem"](value, first, lift_constant(self.reads.recording, value[first]), STATE.site)
            elif issubclass(kind, GrowingList) and id(value) not in self.lists.views:
                self.lists.grow(value, loop, kind)
            elif issubclass(kind, FilledList) and id(value) not in self.lists.views:
                for k in range(len(place.path) + 1):  # a list of lists as a whole, if possible
                    if self.lists.fill(part_at(f.f_locals.get(name), place.path[:k]), [loop], kind):
                        break
        return alone

    def _is_plain_float(self, slot: int) -> bool:
        """Whether a float is neither computed from lifted ones nor an item of a list: an input, for example."""
        self.retyped.follow(self.reads.recording)
        return slot not in self.retyped.floats and slot not in self.retyped and slot not in self.lists.unread

    def lift_number(self, place: Place, value: Any, kind: type, loop: LoopKey) -> Any:
        """Return a constant number as one of the tape, of this kind."""
        if self.keeps_types and type(value) is not kind and not keeps_float(type(value), kind):
            refuse_counter("a number has another type in the first iteration")
        key = place, constant_key(value)
        if key not in self.constants:
            self.constants[key] = lift_constant(self.reads.recording, kind(value))
            self.lifted_slots[slot_of(self.reads.recording, self.constants[key])] = loop
            if type(value) is int is not kind:
                self.integers.update([slot_of(self.reads.recording, self.constants[key])])
        if kind is int or type(value) is int:
            return self.constants[key]
        return record_call(ruled(kind), (self.constants[key],), {})  # each branch that sets it has a step that does so

    @property
    def keeps_types(self) -> bool:
        """Whether the values of the trace are returned, so that their types stay."""
        return self.restarts is not None and not self.restarts.of_any_type

    def retype(self, place: Place, made: Any, first: float) -> Any:
        """Note that the tape has a np.float64 in place of a float; return the float if types stay."""
        firsts = self.began.setdefault(place, set())
        firsts.add(first)
        slot = slot_of(self.reads.recording, made)
        assert slot is not None
        self.retyped.note(self.reads.recording, slot, firsts)
        return self.retyped.as_float(self.reads.recording, made) if self.keeps_types else made

    def item(self, container: list[Any] | tuple[Any, ...], key: Any) -> Any:
        """Return the item of a list or tuple at a symbolic integer, read from a table of all items.

        In a loop that appends to the list, return one of its last items, if the integer counts as the loop does.
        """
        place = int(float_of(key))
        container[place]  # may raise an IndexError
        try:
            loop, name = self.growing(container)
        except IncomparableError:
            self.refuse_key(key)
        if loop is not None and place < 0:  # it counts from the end, in this iteration alone
            self.refuse_key(key)
        if loop is not None and (known := self.depth_of(loop, name)):
            if len(container) - place > MOST_DEPTH:
                self.refuse_key(key)
            self.check_depth(loop, name, len(container) - place, known)
            counter = loop.counted_by.counters[0]
            ahead = record_integer_call(operator.sub, key, counter)
            difference = place - int(float_of(counter))
            for test, bound in ((operator.gt, difference - 0.5), (operator.lt, difference + 0.5)):  # guards
                record_call(ruled(test), (float_of(ahead), bound), {})
            return container[place]
        _, before, read = self.reader(container)
        is_same = len(before) == len(container) and all(map(operator.is_, before, container))
        if read is None or not is_same:  # a table for each change would be quadratic
            if loop is not None:
                self.check_depth(loop, name, len(container) - place, 0)
            elif self.lists.fill(container, self.loops_behind([key])):
                return self.lists.read(self.lists.views[id(container)], key)
            self.refuse_key(key)
        return read(ItemIndex.of(place, key))

    def reader(self, container: Any) -> tuple[Any, list[Any], Any]:
        """Return a list or tuple with its items when it was first indexed, and the function that reads its table."""
        if id(container) not in self.readers:
            self.readers[id(container)] = container, [*container], column_reader(self.reads.recording, container)
        return self.readers[id(container)]

    def growing(self, container: Any) -> tuple[Any, str]:
        """Return the counted loop that appends to a list, and the name of the list there; None if there is none."""
        for frame in frames_of(sys._getframe(2)):
            names = local_variables(frame)
            loops = [loop for (frame_id, _), (loop, _) in self.loops.items() if frame_id == id(frame)]
            for loop in reversed([loop for loop in loops if loop.counted_by is not None]):
                for name in loop.grown:
                    if names.get(name) is container:
                        return loop, name
        return None, ""

    def depth_of(self, loop: LoopRun, name: str) -> int:
        """Return how many last items of a list counters index in a loop that appends to it."""
        depths = self.reads.effects.learned.depths
        return max([depth for key, grown, depth in depths if (key, grown) == (loop.key, name)], default=0)

    def check_depth(self, loop: LoopRun, name: str, depth: int, known: int) -> None:
        """Begin the trace again if a counter indexes an item so far from the end of a list, and this is not known."""
        if known < depth <= MOST_DEPTH:
            refuse_counter("a counter indexes a list that grows", ("depths", [(loop.key, name, depth)]))

    def check_fixed_item(self, container: list[Any], key: Any) -> None:
        """Refuse an index of a list that grows if it is no counter: other iterations may read another item there.

        That is so unless it counts from the end and is among the last items, which the state of the loop has.
        """
        _, loop, known = self.indexed[id(container)]
        if type(key) is not int or not -known <= key < 0:
            refuse_counter("a list that grows is indexed by a constant", ("unlifted", [loop.key]))

    def refuse_key(self, key: Any) -> None:
        """Refuse a key with counters; in the next trace those of the loops around are constants."""
        loops = self.loops_behind(key if type(key) is tuple else (key,))
        refuse_counter("a counter is used as a key", ("unlifted", loops) if loops else None)

    def loops_behind(self, counters: Iterable[Any]) -> set[LoopKey]:
        """Return the loops from whose counters these are computed."""
        todo, seen = [slot_of(self.reads.recording, counter) for counter in counters], set[Any]({None})
        while todo:
            slot = todo.pop()
            if slot not in seen:
                seen.add(slot)
                todo += flat_slots(self.reads.recording.entries[slot][2])
        return {loop for slot, loop in self.lifted_slots.items() if slot in seen}

    def refuse_row(self, thing: Any) -> None:
        """Refuse an array that a loop has read from a table: the array in the list has other memory."""
        if type(thing) is np.ndarray and any([owner_of(thing) is owner_of(table) for table, *_ in self.tables]):
            refuse_counter("it asks about the memory of an array of a list")

    def after_call(self, frame: types.FrameType) -> tuple[bool, frozenset[str]]:
        """Return what `straight.after_calls` found about the call that a frame is in.

        That is whether paths may join after it, and the fast local variables that may be read then.
        """
        code = frame.f_code
        if id(code) not in self.calls:
            self.calls[id(code)] = code, after_calls(code)  # the code is kept, so that no id is used twice
        _, (offsets, alone, live) = self.calls[id(code)]
        k = bisect(offsets, frame.f_lasti) - 1  # f_lasti may be within the call
        return alone[k], live[k]

    def restart_if_needed(self, frame: types.FrameType, loop: LoopRun, iterator: list[Any]) -> None:
        """End the trace if it should begin again, with more lifts; nothing outside may show that it had begun.

        Errors: RestartError.
        """
        loop.iterations += 1
        if self.restarts is None or not self.restarts.are_possible:
            return
        left = operator.length_hint(iterator[0], FEW_LEFT + 1) if iterator else FEW_LEFT + 1
        is_long = left > FEW_LEFT or self.restarts.of_any_type  # which else is traced to its end, and then again
        if not is_long or loop.iterations > max(MOST_EARLY, left if iterator else 0):
            return
        key, names = self.liftable[loop]
        asked = self.may_branch(loop), {**names}
        if asked == loop.asked:
            return
        loop.asked = asked
        if not asked[0] or (key in self.lifts and names.items() <= self.lifts[key].items()):
            return
        lifts = with_lifts(self.lifts, self.needed_lifts(self.restarts.of_any_type))
        if lifts != self.lifts and not self._would_show(frame):
            raise self.reads.recording.refuse(RestartError(lifts))

    def _would_show(self, frame: types.FrameType) -> bool:
        """Whether code outside may see that the trace had begun, or code in these frames that it ends."""
        reads, effects = self.reads, self.reads.effects
        if effects or effects.filters_warnings or effects.arrays.before or reads.draws or reads.obstacle:
            return True
        try:
            return any([sees_end(f) for f in frames_of(frame)])
        except IncomparableError:
            return True

    @property
    def frees_loops(self) -> bool:
        """Whether a loop for which variables were lifted now runs any number of iterations."""
        return any([loop.kind for loop in self.lifted_loops])

    def needed_lifts(self, of_any_type: bool = True) -> Lifts:
        """Return the variables that must be lifted to free loops which contain guards; their type may have to stay."""
        learned = self.reads.effects.learned
        found = {key: names | self.lifts.get(key, {}) for key, names in self.lifted_before.items()}
        for loop, (key, names) in self.liftable.items():
            if key in learned.unlifted:
                continue
            if (of_any_type or loop.keeps_types) and self.may_branch(loop):
                found.setdefault(key, {}).update(names)
        if not (found or self.lifts):
            return found
        guesses = learned.allowed({key: names for key, names in self.guesses.items() if names})
        return with_lifts(guesses, found)

    def may_branch(self, loop: LoopRun) -> bool:
        """Whether iterations of a loop contain guards, or record different numbers of calls, or make tables."""
        loop.has_test = loop.has_test or _has_test(self.reads.recording.entries[loop.searched : loop.end])
        loop.searched = loop.end
        return loop.forks or loop.has_test or (loop.makes_lists and (loop.jumps or self._is_nested(loop)))

    def _is_nested(self, loop: LoopRun) -> bool:
        """Whether a loop is within another one, or contains one."""
        others = [other for other, _ in self.loops.values() if other is not loop]
        return any([other.begin >= loop.begin or not other.is_over for other in others])


def _has_test(entries: Iterable[Any]) -> bool:
    return any([entry and entry[0].kind == "guard" and not isinstance(entry[0].fn, Mark) for entry in entries])


def _only_counts(head: LoopHead, iterator: list[Any]) -> bool:
    """Whether a loop runs over a range whose numbers it does not read."""
    return head.counts and type(iterator[0]) is type(iter(range(0)))
