"""Threads that run in an order chosen by one integer, one at a time; a failing schedule replays and shrinks.

The threads are real, but a thread only runs while it holds the turn. It may hand the turn on wherever the product waits
or wakes another thread (`schedule_parts.py` replaces locks, queues and clocks there), and, on request, at each line in
some files. Time is virtual: it advances only when every thread waits, to the first deadline. So a lost wake-up shows as
elapsed time, and a wait without a deadline as a deadlock.
"""

import contextlib
import gc
import random
import sys
import threading
from _thread import allocate_lock, get_ident

MOST_STEPS = 30_000
LIMIT = 60.0  # real seconds before a schedule counts as stuck, because a thread waits for something not replaced


class Deadlock(AssertionError):
    """Every thread waits, and none has a deadline."""


class Stuck(AssertionError):
    """A schedule does not end."""


class _Abandoned(BaseException):
    """Ends the threads in a failed schedule."""


class Dice:
    """Chooses by a seed. How often it switches threads differs between seeds."""

    def __init__(self, seed):
        self._draw = random.Random(f"schedule-{seed}")
        self._often = self._draw.choice((0.01, 0.05, 0.2, 0.5))

    def stays(self, step):
        """Return whether the running thread continues, without a look at the others."""
        return self._draw.random() >= self._often

    def next(self, step, runnable, default):
        """Return the number of the next thread to run."""
        others = [each for each in runnable if each != default]
        return self._draw.choice(others or runnable)


class Replay:
    """Repeats choices: the thread at a step, unless it is the default one."""

    def __init__(self, choices):
        self._choices = dict(choices)

    def stays(self, step):
        return step not in self._choices

    def next(self, step, runnable, default):
        chosen = self._choices.get(step, default)
        return chosen if chosen in runnable else default


class Task:
    """A thread in a schedule."""

    def __init__(self, number, name):
        self.number, self.name = number, name
        self.gate = allocate_lock()
        self.gate.acquire()
        self.ready = self.deadline = self.thread = self.seen = None
        self.ended = self.polling = False


class Schedule:
    """One run of a scenario.

    Args:
        choose: Chooses the next thread, such as `Dice(seed)`.
        files: Names of source files at whose lines the turn may change, too.

    Attributes:
        now: The virtual time, in seconds.
        passed: How much virtual time has passed.
        choices: The steps where a thread other than the default one was chosen.
    """

    def __init__(self, choose, files=()):
        self._choose, self._files = choose, frozenset(files)
        self.now, self.passed, self.steps, self.choices = 1000.0, 0.0, 0, []
        self.tasks, self.current, self.failure, self._over = [], None, None, False
        self._of_thread, self._poked = {}, 0

    # Called by replaced parts

    def mine(self):
        """Return whether the calling thread belongs to the schedule, and holds the turn."""
        return not self._over and self.current is not None and self._of_thread.get(get_ident()) is self.current

    def point(self, ready=None, timeout=None):
        """Perhaps let other threads run; return `ready()` once it is true or the timeout is over."""
        if not self.mine():
            self._leave_if_over()
            return ready is None or ready()
        task = self.current
        self.steps += 1
        self._poked += not task.polling
        if self.steps > MOST_STEPS:
            self._fail(Stuck(f"after {MOST_STEPS:,} steps threads still run:\n{self.listing()}"))
            raise _Abandoned
        if ready is None or ready():
            if self._choose.stays(self.steps):
                return True
            task.ready = task.deadline = None
        else:
            task.ready, task.deadline = ready, None if timeout is None else self.now + timeout
        self._hand_over(task)
        return ready is None or ready()

    def poll(self):
        """Wait until another thread has done something, because compiled code that waits looks again then."""
        if not self.mine():
            self._leave_if_over()
            return
        seen, task = self._poked, self.current
        task.polling = True
        self.steps += 1
        if self.steps > MOST_STEPS:
            self._fail(Stuck(f"after {MOST_STEPS:,} steps threads still run:\n{self.listing()}"))
            raise _Abandoned
        task.ready, task.deadline = lambda: self._poked > seen, None
        self._hand_over(task)

    def served(self):
        """Compiled code has ended its wait."""
        if self.mine():
            self.current.polling = False
        self.point()

    def sleep(self, seconds):
        """Let virtual time pass."""
        self.point(lambda: False, seconds)

    def start(self, thread, start):
        """Start a thread as part of the schedule."""
        task = self._add(thread.name)
        task.thread, body = thread, thread.run
        thread.run = lambda: self._run(task, body)
        # The library's own event, because the starting thread holds the turn until the other has begun.
        thread._started = threading.Event()
        start(thread)
        self.point()

    def task_of(self, thread):
        """Return a thread's task, or None if it is outside the schedule."""
        return next((each for each in self.tasks if each.thread is thread), None)

    # Running

    def run(self, scenario):
        """Run a scenario in a separate thread, wait for all threads, and store the failure as an attribute."""
        root = self._add("main")
        root.thread = threading.Thread(target=self._run, args=(root, lambda: scenario(self)), daemon=True)
        self.current = root
        root.thread.start()
        root.gate.release()
        for task in self.tasks:  # the list grows meanwhile
            task.thread.join(LIMIT)
            if task.thread.is_alive():
                self.failure = self.failure or Stuck(f"'{task.name}' waits for something real:\n{self.listing()}")
                self._abandon()
        self._over = True

    def _add(self, name):
        task = Task(len(self.tasks), name)
        self.tasks.append(task)
        return task

    def _run(self, task, body):
        task.gate.acquire()
        self._of_thread[get_ident()] = task
        try:
            self._leave_if_over()
            if self._files:
                sys.settrace(self._trace)
            body()
        except _Abandoned:
            pass
        except BaseException as error:
            if task.number == 0:
                self._fail(error)
            elif not self._over:
                self._fail(Stuck(f"'{task.name}' ended by {error!r}"))
        finally:
            sys.settrace(None)
            task.ended = True
            if not self._over:
                self._poked += 1
                self.steps += 1
                self._hand_over(task)
            del self._of_thread[get_ident()]

    def _trace(self, frame, event, arg):
        return self._line if frame.f_code.co_filename in self._files else None

    def _line(self, frame, event, arg):
        if event == "line" and self.mine():
            self.point()
        return self._line

    def _hand_over(self, task):
        """Give the turn to the next thread; return when this one has it again."""
        runnable = self._runnable()
        if runnable is None:
            if task.ended:
                return
            raise _Abandoned
        default = task.number if task.number in runnable else self._following(task.number, runnable)
        chosen = self._choose.next(self.steps, runnable, default) if len(runnable) > 1 else default
        if chosen != default:
            self.choices.append((self.steps, chosen))
        if chosen == task.number and not task.ended:
            return
        self.current = self.tasks[chosen]
        self.current.gate.release()
        if not task.ended:
            task.gate.acquire()
            self._leave_if_over()

    @staticmethod
    def _following(number, runnable):
        return min(runnable, key=lambda each: (each <= number, each))

    def _runnable(self):
        """Return the numbers of runnable threads, advancing time if necessary; None if all have ended."""
        while True:
            waiting = [each for each in self.tasks if not each.ended]
            found = [
                each.number
                for each in waiting
                if each.ready is None or (each.deadline is not None and each.deadline <= self.now) or each.ready()
            ]
            if found or not waiting:
                return found or None
            deadlines = [each.deadline for each in waiting if each.deadline is not None]
            if not deadlines:
                self._fail(Deadlock(f"every thread waits for another:\n{self.listing()}"))
                return None
            self.passed += max(0.0, min(deadlines) - self.now)
            self.now = max(self.now, min(deadlines))

    def _fail(self, error):
        self.failure = self.failure or error
        self._abandon()

    def _abandon(self):
        """Let all threads end by raising at each one's next wait."""
        self._over = True
        for each in self.tasks:
            with contextlib.suppress(RuntimeError):  # it runs
                each.gate.release()

    def _leave_if_over(self):
        if self._over and self.failure is not None and get_ident() in self._of_thread:
            raise _Abandoned

    def listing(self):
        """Return each thread's stack, innermost frames last."""
        frames, lines = sys._current_frames(), []
        for each in self.tasks:
            frame = frames.get(getattr(each.thread, "ident", None))
            if each.ended or frame is None:
                continue
            places = []
            while frame is not None and len(places) < 8:
                if "schedule" not in frame.f_code.co_filename:
                    places.append(f"{frame.f_code.co_name}:{frame.f_lineno}")
                frame = frame.f_back
            lines.append(f"  {each.number} '{each.name}': {' < '.join(places)}")
        return "\n".join(lines)


def play(scenario, choose, files=(), quick=None):
    """Run a scenario once; return the schedule, including its failure.

    Args:
        scenario: Gets the schedule, and asserts the expectations.
        choose: Chooses the next thread.
        files: Source files at whose lines the turn may change.
        quick: The limit in virtual seconds; None for no limit.
    """
    import schedule_parts

    schedule = Schedule(choose, files)
    gc.disable()  # a finalizer would run at any step
    try:
        with schedule_parts.replaced(schedule):
            schedule.run(scenario)
    finally:
        gc.enable()
    if schedule.failure is None and quick is not None and schedule.passed > quick:
        schedule.failure = AssertionError(f"{schedule.passed:.3f} s passed while all threads waited: a lost wake-up")
    return schedule


def shrunk(scenario, schedule, files=(), quick=None, most=300):
    """Return a failing schedule with as few choices as can be found."""
    best, size = schedule, max(1, len(schedule.choices) // 2)
    while most and size:
        for first in range(0, len(best.choices), size):
            choices = best.choices[:first] + best.choices[first + size :]
            tried, most = play(scenario, Replay(choices), files, quick), most - 1
            if type(tried.failure) is type(best.failure) and len(tried.choices) < len(best.choices):
                best = tried
                break
            if not most:
                break
        else:
            size //= 2
    return best


class Failed(AssertionError):
    """A schedule has failed.

    Attributes:
        seed: Its number.
        choices: The fewest failing choices found, for `Replay`.
    """

    def __init__(self, text, seed, choices):
        super().__init__(text)
        self.seed, self.choices = seed, choices


def explore(scenario, seeds, files=(), quick=None, tries=300):
    """Run a scenario with many seeds. A failing one is run `tries` times more, to find fewer failing choices.

    Raises:
        Failed: One fails; the text has its number and its choices.
    """
    for seed in seeds:
        found = play(lambda schedule, seed=seed: scenario(schedule, random.Random(seed)), Dice(seed), files, quick)
        if found.failure is None:
            continue
        same = lambda schedule, seed=seed: scenario(schedule, random.Random(seed))  # noqa: E731
        small = shrunk(same, found, files, quick, tries)
        text = f"schedule {seed} of {scenario.__name__}, with the choices {small.choices} of (step, thread):\n"
        raise Failed(f"{text}{type(small.failure).__name__}: {small.failure}", seed, small.choices) from small.failure
