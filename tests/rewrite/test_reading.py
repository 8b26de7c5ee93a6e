"""Each opcode of each Python's table reads nothing from outside, or is hooked where that is watched."""

from __future__ import annotations

import pytest

from wengert.rewrite.reading import HANDLERS, reading_table
from wengert.rewrite.tables import VERSIONS, table_for

NO_READ = {
    "it moves what is on the stack": "CACHE COPY END_FOR END_SEND EXTENDED_ARG NOP NOT_TAKEN POP_ITER POP_TOP PRECALL "
    "PUSH_NULL RESUME SWAP KW_NAMES",
    "it makes a container, slice or text of what is on the stack": "BUILD_CONST_KEY_MAP BUILD_LIST BUILD_SLICE "
    "BUILD_TEMPLATE BUILD_TUPLE LIST_APPEND LIST_TO_TUPLE",
    "it reads and sets variables of its own": "COPY_FREE_VARS DELETE_FAST DELETE_NAME LOAD_CLOSURE LOAD_FAST "
    "LOAD_FAST_AND_CLEAR LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST "
    "LOAD_LOCALS MAKE_CELL SETUP_ANNOTATIONS STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST",
    "it gives a constant": "LOAD_ASSERTION_ERROR LOAD_COMMON_CONSTANT LOAD_CONST LOAD_SMALL_INT RETURN_CONST",
    "it gives what makes classes, which nobody exchanges": "LOAD_BUILD_CLASS",
    "it jumps": "JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT JUMP_FORWARD POP_JUMP_BACKWARD_IF_NONE "
    "POP_JUMP_BACKWARD_IF_NOT_NONE POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_IF_FALSE "
    "POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE POP_JUMP_IF_TRUE",
    "it negates a bool": "UNARY_NOT",
    "it goes on with an iterator or generator, which is none from outside": "ASYNC_GEN_WRAP CLEANUP_THROW "
    "END_ASYNC_FOR FOR_ITER GET_ANEXT RETURN_GENERATOR SEND YIELD_VALUE",
    "it raises, or looks for the handler of what is raised": "CHECK_EG_MATCH CHECK_EXC_MATCH POP_EXCEPT "
    "PREP_RERAISE_STAR RAISE_VARARGS RERAISE WITH_EXCEPT_START",
    "it asks for the length or kind of what a pattern is matched with": "GET_LEN MATCH_MAPPING MATCH_SEQUENCE",
    "it makes type parameters": "CALL_INTRINSIC_2",
    "it prints in an interactive session only": "PRINT_EXPR",
}  # fmt: skip
REASONS = {name: reason for reason, names in NO_READ.items() for name in names.split()}


@pytest.mark.parametrize("version", VERSIONS)
def test_each_opcode_is_watched_or_reads_nothing_from_outside(version: tuple[int, int]) -> None:
    base, table = table_for(version), reading_table(version)
    unknown = [name for name in base.passed if name not in HANDLERS and name not in REASONS]
    assert not unknown
    assert set(HANDLERS) & base.passed == set(table.hooked) - set(base.hooked)
    assert not set(table.hooked) & table.passed
    assert set(base.hooked) <= set(table.hooked)


def test_no_reason_is_given_for_an_opcode_that_is_hooked() -> None:
    assert not set(REASONS) & set(HANDLERS)
    assert not [name for name in REASONS if not any(name in table.passed for table in map(table_for, VERSIONS))]


def test_each_of_these_opcodes_is_one_of_some_python() -> None:
    known = {name for table in map(table_for, VERSIONS) for name in (*table.passed, *table.hooked)}
    assert not HANDLERS.keys() - known
