"""Watched traces: what `wg.compile` records besides the tape, to know when it may run the code again.

- An **input** is a float or array from outside the function. The code reads it again at each call, by its **accessor**:
  `a0` is an argument, `k2['rate']` a global name of the pinned dictionary `k2`.
- A **guard** is an expression about anything else that the function reads: a type, an integer, the identity of a
  function. It was true in the trace; if one is false in a call, the function is traced again.
- A trace **gives up** where no guard can hold what the code reads, writes or calls: it runs on, but is not kept.
  `Guards.give_up` notes the first reason, a clause about the function ("it reads …"), with the user's line.
- **Hooks** tell the trace what the code reads. They are those of any trace, some of them replaced.
- A **head** begins an iteration of a loop, and compares the program's state with that of the iteration before.

Read `trusted` (what needs no guard) and `watchable` (what can have one), `guards`, `containers`, `inputs` and
`outer_reads`; then the hooks: `read_hooks`, `drawing`, `refused_calls`, `call_hooks`, `hooks`; then `tracing`, which
runs it all. Loops have `loop_states`, `loop_heads`, `symbolic_ints` and `symbolic_int_hooks`; `around` has the settings
of errors of floating point.
"""
