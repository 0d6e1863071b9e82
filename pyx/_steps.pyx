"""Run a plan's steps in one compiled loop: each step costs 0.1 us in addition to its kernel, a third of a Python loop,
and a plan for a small image has 10 to 50 steps.
"""

from cpython.object cimport PyObject

cdef extern from "Python.h":
    object PyObject_Vectorcall(object callable, PyObject* const* args, size_t count, PyObject* names)

cdef enum:
    ROOM = 16                           # values passed to a kernel without a tuple

cdef class _Dead:
    def __repr__(self):
        return "DEAD"


DEAD = _Dead()                          # a tensor's value in a conditional branch not taken


cdef class _Step:
    cdef object kernel, given, op
    cdef tuple inputs, outputs, last
    cdef Py_ssize_t output              # place of the only output; -1 for none or several
    cdef bint stateful, guarded, merges, reads

    cdef object call(self, object run, list values):
        cdef PyObject* args[ROOM]
        cdef Py_ssize_t place, count = 0
        if len(self.inputs) >= ROOM:
            held = [values[place] for place in self.inputs]
            return self.kernel(run, *held) if self.stateful else self.kernel(*held)
        if self.stateful:
            args[0] = <PyObject*>run
            count = 1
        for place in self.inputs:
            args[count] = <PyObject*>values[place]
            count += 1
        return PyObject_Vectorcall(self.kernel, args, count, NULL)

    cdef int take(self, object run, list values, set dead) except -1:
        cdef Py_ssize_t place
        if self.guarded and self.skipped(values, dead):
            if not self.reads:          # a step that reads a variable for a Merge does not determine the Merge
                dead.add(self.op)
            for place in (self.outputs if self.output < 0 else (self.output,)):
                values[place] = DEAD
            return 0
        if self.given is not None:
            held = [values[place] for place in self.inputs]
            self.forget(values)
            self.given(run, held)
            return 0
        result = self.call(run, values)
        if self.output >= 0:
            values[self.output] = result
        elif self.outputs:
            for place, value in zip(self.outputs, result, strict=True):
                values[place] = value
        result = value = None
        return self.forget(values)

    cdef int forget(self, list values) except -1:
        cdef Py_ssize_t place
        for place in self.last:
            values[place] = None
        return 0

    cdef bint skipped(self, list values, set dead) except -1:
        cdef Py_ssize_t place
        if self.merges:
            for place in self.inputs:
                if values[place] is not DEAD:
                    return False
            return True
        for place in self.inputs:
            if values[place] is DEAD:
                return True
        return not dead.isdisjoint(self.op.control_inputs)


cdef class Steps:
    """Steps, sorted so that each comes after those whose values it takes.

    Thread safety: several threads may run the same steps, each with its own values.

    Args:
        steps: See `Step`.
        merges: Operation types that take the value from the branch taken.
        op_error: Called with a kernel's exception and its operation, returns the exception to raise.
    """
    cdef tuple steps
    cdef object op_error
    cdef Py_ssize_t size                # number of value places

    def __init__(self, steps, merges, op_error):
        cdef _Step made
        cdef Py_ssize_t place
        self.op_error = op_error
        self.size = 0
        found = []
        for each in steps:
            made = _Step()
            made.kernel, made.op, made.given = each.kernel, each.op, each.given
            made.stateful, made.guarded, made.reads = each.stateful, each.guarded, each.reads
            made.merges = made.op.type in merges
            made.inputs, made.last = tuple(each.inputs), tuple(each.last)
            single = isinstance(each.outputs, int)
            made.output = each.outputs if single else -1
            made.outputs = () if single else tuple(each.outputs)
            for place in (*made.inputs, *made.last, *((each.outputs,) if single else made.outputs)):
                if place < 0:
                    raise ValueError(f"expected places of steps from 0 on, got {place}")
                self.size = max(self.size, place + 1)
            found.append(made)
        self.steps = tuple(found)

    def follow(self, run, list values not None):
        """Run all steps.

        Args:
            run: The run, which stateful kernels take as their first argument.
            values: One per place; values that no later step reads are dropped, to save memory.

        Raises:
            OpError: A kernel failed.
        """
        cdef _Step step = None
        cdef set dead = set()
        self.check(values)
        try:
            for step in self.steps:
                step.take(run, values, dead)
        except Exception as error:
            raise self.op_error(error, step.op) from error.__cause__

    def take(self, Py_ssize_t number, run, list values not None, set dead not None):
        """Run one step.

        Args:
            number: The step's index.
            run, values: As for `follow`.
            dead: Operations skipped because their branch is not taken; this adds to them.

        Raises:
            OpError: The kernel failed.
        """
        cdef _Step step
        self.check(values)
        if self.steps is None or not 0 <= number < len(self.steps):
            raise IndexError(f"there is no step {number}: there are {len(self.steps or ())}")
        step = self.steps[number]
        try:
            step.take(run, values, dead)
        except Exception as error:
            raise self.op_error(error, step.op) from error.__cause__

    cdef int check(self, list values) except -1:
        if self.steps is None or len(values) < self.size:
            raise ValueError(f"expected a value for each of {self.size} places, got {len(values)}")
        return 0
