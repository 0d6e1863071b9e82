"""Plan a day of jobs on three machines: first come first served, and nearest deadline first.

    python examples/priorities.py

The two plans differ only in the kind of queue. Minutes are counted, not waited for, so every run prints the same.
"""

import numpy as np

import pipeline

JOBS, MACHINES = 120, 3
TYPES = [np.int64, np.int64, "string"]  # deadline, minutes of work, name


def jobs():
    """Return when each job comes in, and the job."""
    rng = np.random.default_rng(1)
    arrivals = np.sort(rng.integers(0, 600, JOBS))
    minutes = rng.integers(5, 26, JOBS)
    deadlines = arrivals + minutes + rng.integers(10, 240, JOBS)
    return arrivals, [(deadlines[i], minutes[i], f"job {i}") for i in range(JOBS)]


def late_jobs(queue):
    """Let the machines take jobs from the queue in turn; return the late ones, and by how much."""
    arrivals, waiting = jobs()
    came, late = 0, {}
    free = np.zeros(MACHINES, np.int64)  # when each machine finishes its job
    for _ in range(JOBS):
        machine = free.argmin()
        if queue.size() == 0:  # idle until the next job comes
            free[machine] = max(free[machine], arrivals[came])
        while came < JOBS and arrivals[came] <= free[machine]:
            queue.enqueue(waiting[came])
            came += 1
        deadline, minutes, name = queue.dequeue()
        free[machine] += minutes
        if free[machine] > deadline:
            late[name.decode()] = int(free[machine] - deadline)
    return late


def main():
    plans = {
        "first come, first served": pipeline.FIFOQueue(JOBS, TYPES, [()] * 3),
        "nearest deadline first": pipeline.PriorityQueue(JOBS, TYPES[1:], [()] * 2),  # the first one is the priority
    }
    for title, queue in plans.items():
        late = late_jobs(queue)
        worst = max(late, key=late.get, default="none")
        print(f"{title}: {len(late)} of {JOBS} jobs are late, {worst} the most, by {late.get(worst, 0)} minutes")


if __name__ == "__main__":
    main()
