"""A monitored session's layers: one calls hooks, one stops with a Coordinator, one recovers from interruptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.compat.monitored.hooks import SessionRunArgs, SessionRunContext, SessionRunValues
from pipeline.compat.platform import tf_logging
from pipeline.compat.session.settings import RunMetadata, RunOptions
from pipeline.errors import AbortedError, UnavailableError

# After these errors a new session may succeed.
_INTERRUPTIONS = (AbortedError, UnavailableError)


class StepContext:
    """A step function's argument.

    Args:
        session: The session without hooks.
        run_with_hooks: The `run` method with hooks.
    """

    def __init__(self, session: Any, run_with_hooks: Callable[..., Any]) -> None:
        self._session, self._run_with_hooks = session, run_with_hooks

    @property
    def session(self) -> Any:
        """The session; its `run` calls no hooks."""
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Run as `session.run` does, and call the hooks."""
        return self._run_with_hooks(*args, **kwargs)

    def request_stop(self) -> None:
        """End the step and stop the session by raising StopIteration."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class Layer:
    """A session around another one."""

    def __init__(self, sess: Any) -> None:
        self._sess = sess

    @property
    def graph(self) -> Any:
        """The graph."""
        return self._sess.graph

    @property
    def sess_str(self) -> str:
        """The target, always empty: sessions run in this process."""
        return ""

    def should_stop(self) -> bool:
        """Return whether this layer or an inner one should stop."""
        if self._check_stop() or not self._sess:
            return True
        return isinstance(self._sess, Layer) and self._sess.should_stop()

    def _check_stop(self) -> bool:
        return False

    def close(self) -> None:
        """Close the inner session."""
        if self._sess:
            try:
                self._sess.close()
            except _INTERRUPTIONS as error:
                tf_logging.error("An error occurred when attempting to close the session. Error: %s", error)
            finally:
                self._sess = None

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run in the inner session."""
        return self._sess.run(*args, **kwargs)

    def run_step_fn(self, step_fn: Callable[[StepContext], Any], raw: Any, run_with_hooks: Any) -> Any:
        """Call a step function."""
        return step_fn(StepContext(raw, run_with_hooks or self.run))


class Hooked(Layer):
    """Calls hooks before and after each run."""

    def __init__(self, sess: Any, hooks: list[Any]) -> None:
        super().__init__(sess)
        self._hooks = hooks
        self._should_stop = False

    def _check_stop(self) -> bool:
        return self._should_stop

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Run the caller's and the hooks' fetches; RuntimeError if a hook has requested a stop."""
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        wanted = {"caller": fetches}
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
        options = options or RunOptions()
        feed_dict = self._before(context, wanted, feed_dict, options)
        run_metadata = run_metadata or RunMetadata()
        outputs = self._sess.run(wanted, feed_dict=feed_dict, options=options, run_metadata=run_metadata)
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(outputs.get(hook), options, run_metadata))
        self._should_stop = self._should_stop or context.stop_requested
        return outputs["caller"]

    def _before(self, context: SessionRunContext, wanted: dict[Any, Any], users: Any, options: Any) -> Any:
        """Call each hook's `before_run`: add to the fetches and options; return all feeds."""
        feeds: dict[Any, Any] = {}
        for hook in self._hooks:
            request = hook.before_run(context)
            if request is None:
                continue
            if request.fetches is not None:
                wanted[hook] = request.fetches
            if request.feed_dict:
                _distinct(feeds, request.feed_dict, "Same tensor is fed by two hooks.")
                feeds.update(request.feed_dict)
            if request.options:
                options.timeout_in_ms = max(options.timeout_in_ms, request.options.timeout_in_ms)
                options.trace_level = max(options.trace_level, request.options.trace_level)
        if not feeds:
            return users
        if users:
            _distinct(users, feeds, "Same tensor is fed by a SessionRunHook and user.")
            feeds.update(users)
        return feeds


def _distinct(a: dict[Any, Any], b: dict[Any, Any], message: str) -> None:
    both = set(a) & set(b)
    if both:
        raise RuntimeError(f"{message} Conflict(s): {list(both)}")


class Coordinated(Layer):
    """Stops when a Coordinator stops, and raises its threads' errors."""

    def __init__(self, sess: Any, coord: Any, stop_grace_period_secs: float) -> None:
        super().__init__(sess)
        self._coord, self._grace = coord, stop_grace_period_secs

    def _check_stop(self) -> bool:
        self._coord.raise_requested_exception()
        return bool(self._coord.should_stop())

    def close(self) -> None:
        """Stop the threads, wait for them, close the session; raise a thread's error."""
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
        finally:
            try:
                super().close()
            except Exception as error:
                tf_logging.error("The session could not be closed: %s", error)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run; if it fails after a thread was interrupted, raise the interruption."""
        try:
            return self._sess.run(*args, **kwargs)
        except _INTERRUPTIONS:
            raise
        except Exception as original:
            try:
                self._coord.raise_requested_exception()
            except _INTERRUPTIONS:
                raise
            except Exception:
                raise original from None
            raise


class Recoverable(Layer):
    """Continues in a new session after an interruption.

    Args:
        create: Makes the inner session.
    """

    def __init__(self, create: Callable[[], Any]) -> None:
        self._create = create
        super().__init__(self._created())

    def _created(self) -> Any:
        while True:
            try:
                return self._create()
            except _INTERRUPTIONS as error:
                tf_logging.info("A session could not be created; a new one will be. Error: %s", error)

    def _check_stop(self) -> bool:
        try:
            return self._sess._check_stop() if self._sess else True
        except _INTERRUPTIONS as error:
            self._interrupted(error)
            self._sess = self._created()
            return False
        except Exception:
            return True  # `run` and `close` raise the error

    def _interrupted(self, error: Exception) -> None:
        tf_logging.info("The session was interrupted and will be closed; a new one will be created. Error: %s", error)
        self.close()
        self._sess = None

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run; after an interruption, run again in a new session."""
        return self._until_done(lambda: self._sess.run(*args, **kwargs))

    def run_step_fn(self, step_fn: Callable[[StepContext], Any], raw: Any, run_with_hooks: Any) -> Any:
        """Call a step function; after an interruption, call it again with a new session."""
        return self._until_done(lambda: self._sess.run_step_fn(step_fn, raw, self._sess.run))

    def _until_done(self, attempt: Callable[[], Any]) -> Any:
        while True:
            try:
                if not self._sess:
                    self._sess = self._created()
                return attempt()
            except _INTERRUPTIONS as error:
                self._interrupted(error)
