"""Small programs by feature of the language, in `PROGRAMS`: what each computes must not depend on being traced."""

# ruff: noqa: F401 (an import adds programs)

from __future__ import annotations

import sys

import array_programs
import builtin_programs
import class_programs
import container_programs
import exception_programs
import function_programs
import generator_programs
import language_programs
import library_programs
import metaclass_programs
import object_programs
import operator_programs
import protocol_programs
import sampling_programs
import science_programs
from newer_programs import TEXTS
from program_table import LOG, PROGRAMS, Program, program

for since, text in TEXTS.items():
    if sys.version_info >= since:
        exec(compile(text, f"<programs of Python {since}>", "exec", dont_inherit=True), globals())
