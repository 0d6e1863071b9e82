"""Threads that run in an order chosen by one integer, one at a time; a schedule that fails replays and shrinks.

The threads are real, but a thread only runs while it holds the turn. It may hand the turn on wherever the product
waits or wakes another thread (`schedule_parts.py` replaces locks, queues and clocks there), and, if asked for, at each
line of some files. Time is virtual: it passes only when every thread waits, to the first deadline. So a lost wake-up
shows as time that has passed, and a wait without a deadline as a deadlock.
"""

import contextlib
import gc
import random
import sys
import threading
from _thread import allocate_lock, get_ident

MOST_STEPS = 30_000
LIMIT = 60.0  # seconds of real time after which a schedule counts as stuck: a thread waits for what is not replaced


class Deadlock(AssertionError):
    """Every thread waits, and none has a deadline."""


class Stuck(AssertionError):
    """A schedule does not end."""


class _Abandoned(BaseException):
    """Ends the threads of a schedule that has failed."""


class Dice:
    """Chooses by a seed. How often it lets another thread run differs from seed to seed."""

    def __init__(self, seed):
        self._draw = random.Random(f"schedule-{seed}")
        self._often = self._draw.choice((0.01, 0.05, 0.2, 0.5))

    def stays(self, step):
        """Return whether the thread that runs goes on, without a look at the others."""
        return self._draw.random() >= self._often

    def next(self, step, runnable, default):
        """Return the thread that runs next, by its number."""
        others = [each for each in runnable if each != default]
        return self._draw.choice(others or runnable)


class Replay:
    """Repeats choices: the thread that runs at a step, where it is not the one that would run anyway."""

    def __init__(self, choices):
        self._choices = dict(choices)

    def stays(self, step):
        return step not in self._choices

    def next(self, step, runnable, default):
        chosen = self._choices.get(step, default)
        return chosen if chosen in runnable else default


class Task:
    """A thread of a schedule."""

    def __init__(self, number, name):
        self.number, self.name = number, name
        self.gate = allocate_lock()
        self.gate.acquire()
        self.ready = self.deadline = self.thread = self.seen = None
        self.ended = self.polling = False


class Schedule:
    """One run of a scenario.

    Args:
        choose: Chooses who runs next, such as `Dice(seed)`.
        files: Names of source files at whose lines the turn may change, too.

    Attributes:
        now: The virtual time, in seconds.
        passed: How much of it has passed.
        choices: The steps at which another thread was chosen than the one that would run anyway.
    """

    def __init__(self, choose, files=()):
        self._choose, self._files = choose, frozenset(files)
        self.now, self.passed, self.steps, self.choices = 1000.0, 0.0, 0, []
        self.tasks, self.current, self.failure, self._over = [], None, None, False
        self._of_thread, self._poked = {}, 0

    # What replaced parts call

    def mine(self):
        """Return whether the calling thread belongs to the schedule, and holds the turn."""
        return not self._over and self.current is not None and self._of_thread.get(get_ident()) is self.current

    def point(self, ready=None, timeout=None):
        """Maybe let other threads run; return once `ready()` is true, or the timeout is over: whether it is true."""
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
        """Wait until another thread has done something, as compiled code that waits looks again then."""
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
        # The library's own event, as the thread that starts holds the turn until the other one has begun.
        thread._started = threading.Event()
        start(thread)
        self.point()

    def task_of(self, thread):
        """Return the task of a thread; None for one that is not of the schedule."""
        return next((each for each in self.tasks if each.thread is thread), None)

    # Running

    def run(self, scenario):
        """Run a scenario in a thread of its own, and wait for all threads; the failure is an attribute then."""
        root = self._add("main")
        root.thread = threading.Thread(target=self._run, args=(root, lambda: scenario(self)), daemon=True)
        self.current = root
        root.thread.start()
        root.gate.release()
        for task in self.tasks:  # which grow meanwhile
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
        """Give the turn to the next thread; return when it is this one's again."""
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
        """Return the numbers of the threads that can run, after time has passed if need be; None if all have ended."""
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
        """Let all threads end: whatever they wait for next raises."""
        self._over = True
        for each in self.tasks:
            with contextlib.suppress(RuntimeError):  # it runs
                each.gate.release()

    def _leave_if_over(self):
        if self._over and self.failure is not None and get_ident() in self._of_thread:
            raise _Abandoned

    def listing(self):
        """Return what each thread is doing, innermost frames last."""
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
    """Run a scenario once; return the schedule, which has its failure.

    Args:
        scenario: Gets the schedule, and asserts what it expects.
        choose: Chooses who runs next.
        files: Source files at whose lines the turn may change.
        quick: Seconds of virtual time that may pass; None for any.
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
    """Return a schedule that fails with as few choices as can be found."""
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
        choices: The fewest choices found that fail, for `Replay`.
    """

    def __init__(self, text, seed, choices):
        super().__init__(text)
        self.seed, self.choices = seed, choices


def explore(scenario, seeds, files=(), quick=None, tries=300):
    """Run a scenario by many seeds. One that fails is run `tries` times more, to find fewer choices that fail.

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
