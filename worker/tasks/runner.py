"""Runs a plugin's tasks inside a warm child process: protocol wp-exec/1.

Frames are lines of JSON on file descriptor 3, both ways. stdout and stderr are untouched: whatever the module, a C
extension or a grandchild prints goes there, and after each task this runner ends it with the task's mark.
"""

import asyncio
import ctypes
import importlib
import importlib.util
import inspect
import json
import os
import signal
import sys
import threading
import time
import traceback

FD = 3
MAX_FRAME = 16 * 1024 * 1024
PID = os.getpid()


class RetryLater(Exception):
    """Raise it to have the task run again after this many seconds."""

    def __init__(self, seconds, message=""):
        super().__init__(message or "retry after %s s" % seconds)
        self.seconds = seconds


class NoRetry(Exception):
    """Raise it when no further attempt can help."""


def finite(value):
    """The number, or None for one that JSON cannot express."""
    number = float(value)
    return number if number - number == 0 else None


class FrameTooLarge(Exception):
    """The message does not fit into a frame."""


class Context:
    """What a module knows about its task."""

    def __init__(self, frame):
        self.task_id = frame["id"]
        self.epoch = frame["epoch"]
        self.attempt = frame["attempt"]
        self.max_attempts = frame["max_attempts"]
        # W3C Trace Context of the attempt, for spans of the module and of programs that it starts; None without traces.
        self.traceparent = frame.get("traceparent")
        for name in ("TRACEPARENT", "traceparent"):
            if self.traceparent is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = self.traceparent
        deadline_ms = frame.get("deadline_ms")
        self.deadline = None if deadline_ms is None else time.time() + deadline_ms / 1000
        self.cancelled = threading.Event()

    @property
    def state(self):
        """JSON values of this task's plugin: get, set, update, delete."""
        import flotilla_store

        return flotilla_store.State()

    @property
    def blob(self):
        """Bytes that this task's plugin keeps: get, set, delete."""
        import flotilla_store

        return flotilla_store.Blob()

    def progress(self, value, text=""):
        """Reports how far the task is: 0 to 1, and a message for people."""
        send({"type": "progress", "id": self.task_id, "value": finite(value), "text": str(text)[:500]})

    def log(self, text, level="info"):
        """Adds a line to the task's log. Levels: debug, info, warn, error."""
        send({"type": "log", "id": self.task_id, "level": str(level), "text": str(text)[:2000]})


_write_lock = threading.Lock()
_current = None
try:
    _libc = ctypes.CDLL(None)
except OSError:
    _libc = None


def send(frame):
    text = json.dumps(frame, separators=(",", ":"), allow_nan=False)
    # Starts a new line, in case the module has written to this descriptor by mistake.
    data = b"\n" + text.encode() + b"\n"
    if len(data) > MAX_FRAME:
        raise FrameTooLarge("the output is larger than %d bytes" % MAX_FRAME)
    with _write_lock:
        view = memoryview(data)
        while view:
            view = view[os.write(FD, view):]


def frames():
    """The lines of fd 3, until the worker closes it."""
    buffered = bytearray()
    start = 0
    while True:
        end = buffered.find(b"\n", start)
        if end >= 0:
            line = bytes(buffered[:end])
            del buffered[: end + 1]
            start = 0
            yield json.loads(line)
            continue
        start = len(buffered)
        chunk = os.read(FD, 1 << 20)
        if not chunk:
            return
        buffered += chunk


def load(frame):
    name = frame.get("module") or "plugin"
    source = frame.get("source_path")
    if source:
        if os.path.isfile(source):
            spec = importlib.util.spec_from_file_location(name, source)
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
            return module
        sys.path.insert(0, source)
    return importlib.import_module(name)


def entry(module, init_kwargs):
    """The plugin's callables: (run, run_batch or None)."""
    plugin = getattr(module, "Plugin", None)
    if plugin is not None:
        target = plugin(**init_kwargs)
    else:
        target = module
    run = getattr(target, "run", None)
    batch = getattr(target, "run_batch", None)
    if run is None and batch is None:
        raise AttributeError("the module has neither run, nor run_batch, nor a class Plugin with one")
    return run, batch


def accepts(call):
    """How many of (pk, extra, ctx) the callable takes."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return 3
    if any(p.kind == p.VAR_POSITIONAL for p in parameters):
        return 3
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return min(3, len(positional))


_loop = None


def resolved(value):
    """The value, or the result of an async function."""
    global _loop
    if not inspect.isawaitable(value):
        return value
    if _loop is None:
        _loop = asyncio.new_event_loop()
        asyncio.set_event_loop(_loop)
    try:
        return _loop.run_until_complete(value)
    except KeyboardInterrupt:
        # Interrupted code must not continue inside the next task.
        left = asyncio.all_tasks(_loop)
        for task in left:
            task.cancel()
        _loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        raise


def each(outputs):
    """The outputs of a batch, whichever kind of iterator gives them."""
    if not hasattr(outputs, "__aiter__"):
        yield from outputs
        return
    pending = outputs.__aiter__()
    while True:
        try:
            yield resolved(pending.__anext__())
        except StopAsyncIteration:
            return


def leave_if_forked():
    """Only the original process is the runner, not a child that the module forked and that returned from it."""
    if os.getpid() != PID:
        os._exit(0)


def finish_streams(nonce):
    """Everything the task printed, then its mark, on both streams."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    if _libc is not None:
        _libc.fflush(None)
    mark = b"\x1e" + nonce.encode() + b"\n"
    for fd in (1, 2):
        try:
            os.write(fd, mark)
        except OSError:
            pass


def fail(frame, err):
    if isinstance(err, RetryLater):
        extra = {"retry_after_ms": max(0, int(err.seconds * 1000))}
    elif isinstance(err, NoRetry):
        extra = {"no_retry": True}
    else:
        extra = {}
        traceback.print_exc()
    text = "".join(traceback.format_exception_only(type(err), err)).strip()
    send({"type": "error", "id": frame["id"], "epoch": frame["epoch"], "message": text, **extra})


def succeed(frame, output):
    try:
        send({"type": "result", "id": frame["id"], "epoch": frame["epoch"], "output": output})
    except FrameTooLarge as err:
        fail(frame, err)
    except (TypeError, ValueError, RecursionError) as err:
        fail(frame, TypeError("the output is not JSON: %s" % err))


def run_one(run, count, frame):
    global _current
    ctx = Context(frame)
    _current = ctx
    args = (frame["pk"], frame.get("extra"), ctx)[:count]
    try:
        output = resolved(run(*args))
    except (Exception, KeyboardInterrupt) as err:  # SystemExit ends the process, as the module asked
        leave_if_forked()
        _current = None
        fail(frame, err)
    else:
        leave_if_forked()
        _current = None
        succeed(frame, output)
    finish_streams(frame["nonce"])


def run_many(batch, items):
    """run_batch(items, ctx) gives a list or an iterator of outputs, in order; an exception in place of one fails it."""
    global _current
    first = items[0]
    ctx = Context(first)
    _current = ctx
    tasks = [{"pk": i["pk"], "extra": i.get("extra"), "attempt": i["attempt"]} for i in items]
    done = 0
    try:
        outputs = resolved(batch(tasks, ctx))
        for output in each(outputs):
            leave_if_forked()
            if done == len(items):
                break
            frame = items[done]
            if isinstance(output, BaseException):
                fail(frame, output)
            else:
                succeed(frame, output)
            finish_streams(frame["nonce"])
            done += 1
        if done < len(items):
            raise ValueError("run_batch gave %d outputs for %d tasks" % (done, len(items)))
    except (Exception, KeyboardInterrupt) as err:
        leave_if_forked()
        for frame in items[done:]:
            fail(frame, err)
            finish_streams(frame["nonce"])
    _current = None


def on_cancel(_signum, _frame):
    if _current is not None:
        _current.cancelled.set()


def main():
    signal.signal(signal.SIGUSR1, on_cancel)
    os.set_inheritable(FD, False)
    send({"type": "hello", "v": 1, "runtime": "python %d.%d.%d" % sys.version_info[:3], "pid": os.getpid()})
    incoming = frames()
    init = next(incoming)
    # For `from flotilla import RetryLater, NoRetry` in a module.
    sys.modules.setdefault("flotilla", sys.modules[__name__])
    try:
        run, batch = entry(load(init), init.get("init_kwargs") or {})
    except BaseException as err:
        traceback.print_exc()
        text = "".join(traceback.format_exception_only(type(err), err)).strip()
        send({"type": "init_error", "message": text})
        return
    count = accepts(run) if run is not None else 0
    send({"type": "ready", "caps": ["batch"] if batch is not None else []})
    for frame in incoming:
        kind = frame["type"]
        if kind == "task":
            if run is not None:
                run_one(run, count, frame)
            else:
                run_many(batch, [frame])
        elif kind == "batch":
            if batch is not None:
                run_many(batch, frame["items"])
            else:
                for item in frame["items"]:
                    run_one(run, count, item)
        elif kind == "ping":
            send({"type": "pong"})
        elif kind == "drain":
            return


main()
