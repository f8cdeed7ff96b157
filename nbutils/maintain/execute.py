"""The one way in which this project executes cells: a `Shell` in this process, or a `Kernel`, a process that holds one.

Half of a notebook's time is imports. So kernels are forked from the fork server of `multiprocessing`, which imports what
the notebooks at hand need (`preload`) and runs nothing. Where that is unsafe, off Linux, or is not wanted (COLD=1 in the
environment), each kernel is a fresh process.
"""
import base64
import contextlib
import gc
import importlib
import io
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from multiprocessing import connection

import psutil

from nbutils.maintain import environment, notebooks

# What is imported late, by the first figure, optimizer and drawn case; and what the modules beside this one import.
LATE = {'matplotlib': ['matplotlib.backends.backend_agg', 'contourpy', 'PIL.PngImagePlugin'], 'torch': ['torch._dynamo'],
        'hypothesis': ['nbutils.maintain.first_draw']}
ALWAYS = ['IPython.core.interactiveshell', 'IPython.core.pylabtools', 'matplotlib_inline.backend_inline', 'jupytext', 'yaml']
INTERRUPT_SECONDS = 5  # a cell that does not heed an interrupt for so long is killed


class Died(Exception):
    """The process of a kernel has ended."""


class Shell:
    """Runs cells in this process, once a process; gives outputs as a notebook holds them."""

    def __init__(self, folder):
        from IPython.core.displayhook import DisplayHook
        from IPython.core.displaypub import DisplayPublisher
        from IPython.core.interactiveshell import InteractiveShell
        from IPython.core.pylabtools import activate_matplotlib
        from matplotlib_inline.backend_inline import configure_inline_support
        from traitlets.config import Config

        class Hook(DisplayHook):
            def write_output_prompt(self): pass
            def finish_displayhook(hook): hook._is_active = False
            def write_format_data(hook, data, metadata=None):
                self.add('execute_result', data=data, metadata=metadata or {}, execution_count=hook.prompt_count)

        class Publisher(DisplayPublisher):
            def publish(publisher, data, metadata=None, **_):
                self.add('display_data', data=data, metadata=metadata or {})

        class Quiet(InteractiveShell):
            def enable_gui(self, gui=None): pass
            def showtraceback(self, *_, **__): pass
            def showsyntaxerror(self, *_, **__): pass

        os.chdir(folder)
        sys.path.insert(0, os.getcwd())
        self.outputs = []
        settings = Config(HistoryManager={'enabled': False}, InlineBackend=environment.INLINE_BACKEND,
                          InteractiveShell={'xmode': 'Minimal'})  # its own tracebacks, unread here, take a sixth of a second
        self.shell = Quiet.instance(config=settings, displayhook_class=Hook, display_pub_class=Publisher)
        activate_matplotlib(os.environ['MPLBACKEND'])
        configure_inline_support(self.shell, os.environ['MPLBACKEND'])

    def add(self, output_type, **values):
        data = values.get('data', {})
        data.update((key, base64.b64encode(value).decode()) for key, value in data.items() if isinstance(value, bytes))
        self.outputs.append({'output_type': output_type, **values})

    def write(self, name, text):
        """Add to the output of a stream: all that a cell writes to it is one output."""
        known = [output for output in self.outputs if output.get('name') == name]
        if known:
            known[0]['text'] += text
        elif text:
            self.add('stream', name=name, text=text)

    def run(self, source):
        """Gives (outputs, the exception or None); the exception is the last one of the outputs, too."""
        self.outputs = []
        streams, sys.stdout, sys.stderr = (sys.stdout, sys.stderr), Stream(self, 'stdout'), Stream(self, 'stderr')
        try:
            result = self.shell.run_cell(source, store_history=True)
        finally:
            sys.stdout, sys.stderr = streams
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            lines = ''.join(traceback.format_exception(error)).splitlines()
            self.add('error', ename=type(error).__name__, evalue=str(error), traceback=lines)
        return self.outputs, error


class Stream(io.TextIOBase):
    """Writes into the outputs of a shell."""

    def __init__(self, shell, name):
        self.shell, self.name = shell, name

    def write(self, text):
        self.shell.write(self.name, text)
        return len(text)


# ---- a process that holds a shell ----

def cold():
    """The reason why kernels are fresh processes, or None where they are forked."""
    if os.environ.get('COLD', '0') not in ('', '0'):
        return 'COLD is set'
    if sys.platform != 'linux':  # macOS can fork, but its own libraries do not survive that
        return f'kernels are forked on Linux only, and this is {sys.platform}'
    return None


def preload(paths):
    """Have the kernels of this process forked from a server that holds what these notebooks import."""
    environment.fix()
    multiprocessing.set_forkserver_preload(libraries(paths))


def hold(paths):
    """Import the same into this process, to fork it."""
    environment.fix()
    for name in libraries(paths):
        with contextlib.suppress(ImportError):  # the name of a function
            importlib.import_module(name)


def libraries(paths):
    """The names of the installed modules that the `.py` files of notebooks import, and what these import late, sorted."""
    found = set()
    for path in paths:
        with contextlib.suppress(ValueError, SyntaxError):  # what cannot be read is said where it is executed
            found |= notebooks.libraries(path)
    return [*ALWAYS, *sorted(found), *(name for key in LATE if key in found for name in LATE[key])]


class Kernel:
    """A process that runs cells in a folder, in the fixed environment. `stop` it, or use it as a context.

    `seconds` is the processor time that it has taken up to the end of its last cell.
    """

    def __init__(self, folder):
        environment.fix()
        reason = cold()
        if reason is None:
            self._start('forkserver', folder)
            if (threads := self.receive()) == 1:
                return
            self.stop()
            reason = f'the process that they are forked from has {threads} threads, and they could hang'
            warnings.warn(f'plain kernels, which take longer: {reason}', stacklevel=2)
        self._start('spawn', folder)
        self.receive()

    def _start(self, method, folder):
        context = multiprocessing.get_context(method)
        self._connection, other = context.Pipe()
        self.seconds = 0.0
        self.process = context.Process(target=_serve, args=(other, str(folder)), daemon=True)
        self.process.start()
        other.close()

    def run(self, source, seconds=None):
        """Run a cell; gives its outputs, of which an error is the last.

        Raises TimeoutError where it takes more than so many seconds (it is interrupted then, or killed), and Died.
        """
        self.send(source)
        try:
            return self.receive(seconds)
        except TimeoutError:
            os.kill(self.process.pid, signal.SIGINT)
            try:
                self.receive(INTERRUPT_SECONDS)
            except TimeoutError:
                self.stop()
            raise

    def send(self, source):
        with contextlib.suppress(OSError):  # it is dead, as `receive` will say
            self._connection.send(source)

    def receive(self, seconds=None):
        """The outputs of the cell that was sent. Raises TimeoutError and Died."""
        ready = connection.wait([self._connection, self.process.sentinel], seconds)
        if not ready:
            raise TimeoutError
        try:
            if self._connection not in ready:  # a process that it has started may hold its end of the pipe
                raise EOFError
            answer, self.seconds = self._connection.recv()
        except (EOFError, ConnectionError):
            raise Died('the kernel died') from None
        return answer

    def stop(self):
        """End the process and those that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self._connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def _serve(pipe, folder):
    """What a kernel does: run the cells that come through the pipe until its other end is closed."""
    os.setsid()  # Ctrl-C goes to the process that asks, which ends this one with all that it started
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))  # the process that asks has ended
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    multiprocessing.current_process().daemon = False  # a cell may start processes
    for name in [name for name in sys.modules if name.partition('.')[0] in ('nbutils', '__mp_main__')]:
        del sys.modules[name]  # a notebook imports what it needs of this project, and nothing else is there
    gc.freeze()  # collections would touch, and so copy, what all kernels share
    if 'numpy' in sys.modules:
        sys.modules['numpy'].random.seed()  # all forks have one state of it
    said = {name: _redirected(number) for number, name in ((1, 'stdout'), (2, 'stderr'))}
    shell = Shell(folder)
    pipe.send((psutil.Process(os.getppid()).num_threads(), 0.0))
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            source = pipe.recv()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            shell.run(source)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            for name, file in said.items():
                shell.write(name, file.read().decode('utf-8', 'replace'))
            pipe.send((shell.outputs, _processor_seconds()))
    os.killpg(0, signal.SIGKILL)  # with what the cells have started: the thread may not come to it any more


def _end_with_parent():
    multiprocessing.parent_process().join()
    os.killpg(0, signal.SIGKILL)


def _redirected(number):
    """Have what is written to an open file of this process, by other programs too, go to a file; gives it."""
    with tempfile.NamedTemporaryFile('ab') as file:
        os.dup2(file.fileno(), number)
        return open(file.name, 'rb', buffering=0)


def _processor_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
