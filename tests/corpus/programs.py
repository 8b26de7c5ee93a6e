"""The registry: `PROGRAMS` by feature of the language, `HOSTILE`, `DECISIONS`, `OPAQUE`, gathered from their files."""

from __future__ import annotations

import sys

import array_programs
import builtin_programs
import class_programs
import container_programs
import exception_programs
import function_programs
import generator_programs
import hostile_nesting
import hostile_outside
import hostile_repairs
import hostile_replays
import hostile_results
import hostile_rules
import hostile_rules2
import hostile_tapes
import hostile_tapes2
import language_programs
import library_programs
import masked_programs
import metaclass_programs
import object_programs
import opaque_memory
import opaque_methods
import opaque_programs
import opaque_running
import opaque_texts
import operator_programs
import protocol_programs
import record_programs
import sampling_programs
import science_programs
import subclass_programs
import uncommon_programs
from newer_programs import TEXTS
from program_table import Program, Programs
from registry import gathered

program = Programs()
for since, text in TEXTS.items():
    if sys.version_info >= since:
        exec(compile(text, f"<programs of Python {since}>", "exec", dont_inherit=True), globals())

PROGRAMS: list[Program] = [
    *gathered(
        array_programs.program,
        builtin_programs.program,
        class_programs.program,
        container_programs.program,
        exception_programs.program,
        function_programs.program,
        generator_programs.program,
        language_programs.program,
        library_programs.program,
        masked_programs.program,
        metaclass_programs.program,
        object_programs.program,
        operator_programs.program,
        protocol_programs.program,
        record_programs.program,
        sampling_programs.program,
        science_programs.program,
        subclass_programs.program,
        uncommon_programs.program,
        program,
    ).values()
]
HOSTILE = gathered(
    hostile_nesting.hostile,
    hostile_outside.hostile,
    hostile_repairs.hostile,
    hostile_results.hostile,
    hostile_rules.hostile,
    hostile_rules2.hostile,
)
DECISIONS = gathered(
    hostile_tapes.decides,
    hostile_replays.decides,
    hostile_tapes2.decides,
)
OPAQUE = gathered(
    opaque_memory.cases,
    opaque_methods.cases,
    opaque_programs.cases,
    opaque_running.cases,
    opaque_texts.cases,
)
