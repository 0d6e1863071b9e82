"""Traces read back: their events, and the promises of every trace."""

import gzip
import json
import pathlib

import pipeline


def load(path):
    """Return a whole trace, as JSON."""
    data = pathlib.Path(path).read_bytes()
    return json.loads(gzip.decompress(data) if str(path).endswith(".gz") else data)


def traced(path, body, **options):
    """Return the checked events from a trace of `body()`, and its result."""
    with pipeline.trace(path, **{"interval": 0.001, **options}):
        result = body()
    return sound(load(path)["traceEvents"]), result


def ns(event):
    """Return a span's begin and end, in ns."""
    begin = round(event["ts"] * 1000)
    return begin, begin + round(event["dur"] * 1000)


def spans(events, kind=None):
    """Return the spans in threads of this kind."""
    return [each for each in events if each["ph"] == "X" and kind in (None, each["cat"])]


def _paired(events, ended):
    """Join begins and ends into spans as viewers do; the end may have more arguments."""
    found, open_spans = [], {}
    for each in events:
        if each["ph"] == "B":
            open_spans.setdefault(each["tid"], []).append(each)
        elif each["ph"] == "E":
            begin = open_spans[each["tid"]].pop()
            about = {**begin["args"], **each.get("args", {})}
            found.append({**begin, "ph": "X", "dur": each["ts"] - begin["ts"], "args": about})
        else:
            found.append(each)
    left = [each for track in open_spans.values() for each in track]
    assert not (ended and left), left
    last = max(each.get("ts", 0) for each in events)
    return [*found, *({**begin, "ph": "X", "dur": last - begin["ts"]} for begin in left)]


def waits(events, queue, side):
    return [
        each for each in spans(events, "wait") if (each["args"]["queue"], each["args"].get("side")) == (queue, side)
    ]


def names(events):
    """Return the name of each thread's track."""
    return {each["tid"]: each["args"]["name"] for each in events if each["name"] == "thread_name"}


def sound(events, ended=True):
    """Check a trace's promises and return its events. In a truncated one, spans may have no end."""
    events = _paired(events, ended)
    named = names(events)
    for each in events:
        assert each.get("ts", 0) >= 0, each
        if each["ph"] == "X":
            assert each["dur"] >= 0, each
            assert each["tid"] in named, each
        if each.get("cat") == "wait":
            assert each["args"]["queue"], each
    for thread in named:
        _nest([ns(each) for each in spans(events) if each["tid"] == thread])
    for each in events:
        if each["ph"] == "C":
            assert all(value >= 0 for value in each["args"].values()), each
    return events


def _nest(intervals):
    """Check that any two intervals are nested, or share at most an endpoint."""
    open_until = []
    for begin, end in sorted(intervals, key=lambda each: (each[0], -each[1])):
        while open_until and open_until[-1] <= begin:
            open_until.pop()
        assert not open_until or end <= open_until[-1], (begin, end, open_until)
        open_until.append(end)
