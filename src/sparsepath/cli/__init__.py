"""The command line, ``sparsepath select`` and others, as a process: exit codes, signals, pipes."""

import _thread
import errno
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import click

from sparsepath.cli.commands import EXIT_INTERRUPTED, app
from sparsepath.cli.options import InterruptError
from sparsepath.cli.output import say
from sparsepath.cli.values import as_command_line
from sparsepath.errors import SparsepathError

TERMINATED = 143
MOMENT = 0.01  # seconds until an interrupt that was dropped is sent again
LONGEST_MESSAGE = 2000  # characters of a message; what is quoted in it is cut before
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    0 if all went well, 2 with one sentence on stderr if the input or an option cannot be used, 130
    after Ctrl-C, 143 after SIGTERM.
    """
    open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and "utf" not in stream.encoding.lower():
            stream.reconfigure(errors="replace")  # a name that it cannot show is no reason to fail
    with Signals() as signals:
        code = _run(arguments)
        return TERMINATED if code == EXIT_INTERRUPTED and signals.terminated else code


def open_streams() -> None:
    """Redirect closed stdout or stderr to the null device."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))


def _run(arguments: Sequence[str] | None) -> int:
    arguments = [*map(str, sys.argv[1:] if arguments is None else arguments)]
    try:
        code = app(args=arguments, obj=arguments, prog_name="sparsepath", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (BrokenPipeError, SystemExit):  # click makes the one of the other
        _forget_output()  # the reader of our output has seen enough
        return 0
    except SparsepathError as error:
        return _refuse(as_command_line(str(error)))
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        _forget_output()
        return _refuse(f"cannot write the output: {error.strerror}.")
    except MemoryError as error:
        return _refuse(f"there is not enough memory ({str(error).rstrip('.') or 'all is in use'}).")
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        command = "sparsepath" if context is None else context.command_path
        return _refuse(f"{error.format_message().rstrip('.')}; see {command} --help.")
    except (InterruptError, click.Abort, KeyboardInterrupt):
        say("Interrupted.")
        return EXIT_INTERRUPTED


def _forget_output() -> None:
    """Discard unwritten output, so that it is not written again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(message: str) -> int:
    message = " ".join(message.split())
    if len(message) > LONGEST_MESSAGE:
        message = f"{message[: LONGEST_MESSAGE // 2]} ... {message[-LONGEST_MESSAGE // 2 :]}"
    say(f"Error: {message}")
    return 2


def _send_again(sent: signal.Signals) -> None:
    time.sleep(MOMENT)
    _thread.interrupt_main(sent)


class Signals:
    """SIGTERM, as batch systems and ``timeout`` send it, means the same as Ctrl-C.

    Either may come while a library calls back from C, where Python can only drop the exception: it
    is then sent once more, to arrive after that.
    """

    terminated = False

    def __enter__(self) -> "Signals":
        self._before: Any = None
        self._dropped = sys.unraisablehook
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, self._stop)
            sys.unraisablehook = self._drop
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)
            sys.unraisablehook = self._dropped

    def _drop(self, dropped: Any) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):  # here it would be dropped again
            sent = signal.SIGTERM if self.terminated else signal.SIGINT
            _thread.start_new_thread(_send_again, (sent,))  # a Timer waits here until it runs
        else:
            self._dropped(dropped)

    def _stop(self, *_: object) -> None:
        self.terminated = True
        raise KeyboardInterrupt
