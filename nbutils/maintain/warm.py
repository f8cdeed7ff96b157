"""Warm kernels: forked from a server process that has imported what notebooks import, and has run nothing.

Half of a notebook's time is imports. `enable()` starts the server (this file, run as a program) and selects
`WarmProvisioner` for the kernels of this process and of those that it starts; nbclient, nbconvert and nbval need no
change. Where a warm kernel cannot be had, a plain one is started and a warning says why. COLD=1 in the environment
turns warm kernels off.

A notebook that lacks an import, or whose output hangs on the hash of an object, may pass on warm kernels alone: run
everything with COLD=1 from time to time.
"""
import asyncio
import atexit
import contextlib
import functools
import gc
import importlib.metadata
import importlib.util
import json
import multiprocessing.process
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings

from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

NAME = 'book-warm'  # of the entry point in the group jupyter_client.kernel_provisioners
SELECTED = KernelProvisionerFactory.default_provisioner_name_env
SERVER = 'BOOK_WARM_SERVER'  # the environment variable that holds the path of the server's socket
START_SECONDS = 120  # how long a kernel waits for the server's imports
MESSAGE_BYTES = 1 << 20

# What the server imports. None of it may start a thread or run a torch operation: a child of a process with a thread
# pool hangs for ever. None may be this project's: notebooks would be tested with what it was, not with what it is.
PRELOAD = (
    'ipykernel.kernelapp', 'ipykernel.debugger', 'IPython.core.pylabtools',
    'numpy', 'pooch', 'yaml', 'hypothesis', 'hypothesis.extra.numpy',
    'matplotlib.pyplot', 'matplotlib.backends.backend_agg', 'contourpy', 'PIL.JpegImagePlugin', 'PIL.PngImagePlugin',
    'torch', 'torch._dynamo',  # the first optimizer imports it
    'scipy.integrate', 'scipy.ndimage', 'scipy.optimize', 'scipy.signal', 'scipy.spatial', 'scipy.stats',
    'sklearn.cluster', 'sklearn.datasets', 'sklearn.decomposition', 'sklearn.ensemble', 'sklearn.gaussian_process',
    'sklearn.linear_model', 'sklearn.manifold', 'sklearn.mixture', 'sklearn.model_selection', 'sklearn.naive_bayes',
    'sklearn.neural_network', 'sklearn.pipeline', 'sklearn.svm', 'sympy', 'sympy.combinatorics',
)
# What Python and libraries read once, when they start: where it differs from the server's, the kernel is a plain one.
READ_AT_START = (
    'ATEN_', 'DNNL_', 'GOMP_', 'KMP_AFFINITY', 'LANG', 'LC_', 'LD_', 'MATPLOTLIBRC', 'MKL_', 'MPL', 'OMP_', 'ONEDNN_',
    'OPENBLAS_', 'PYTHON', 'TZ',
)


class Refused(Exception):
    """Why there is no warm kernel, as a message for the maintainer."""


# ---- in the process that wants kernels ----

def enable():
    """Have warm kernels from now on, in this process and in those that it starts.

    Gives None, or the reason why kernels stay plain. Call it where notebooks are about to be executed: the server is
    started at once (some 4 s of one processor, 400 MB), unless the environment names one.
    """
    from nbutils.maintain import environment  # not above: the server must not hold nbutils

    environment.fix()
    reason = why_not()
    if not reason and not importlib.metadata.entry_points(group=KernelProvisionerFactory.GROUP_NAME, name=NAME):
        reason = f'the entry point {NAME} is not installed: python -m pip install -e .'
    if not reason and not os.path.exists(os.environ.get(SERVER, '')):
        try:
            start()
        except OSError as error:
            reason = f'the server of warm kernels cannot be started ({error})'
    os.environ[SELECTED] = 'local-provisioner' if reason else NAME
    KernelProvisionerFactory.instance().default_provisioner_name = os.environ[SELECTED]  # it may have read it before
    return reason


def why_not():
    """The reason why this process cannot have warm kernels, or None."""
    if os.environ.get('COLD', '0') not in ('', '0'):
        return 'COLD is set'
    if sys.platform != 'linux':  # macOS can fork, but its own libraries do not survive that
        return f'kernels are forked on Linux only, and this is {sys.platform}'
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError) as error:
        return f'this system cannot watch a process ({error})'
    return None


def start():
    """Start the server, which ends with this process; gives the path of its socket."""
    folder = tempfile.mkdtemp(prefix='book-warm-')
    path = os.path.join(folder, 'socket')
    environment = {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}  # see `become_kernel`
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen(64)
        files = [listener.fileno(), os.pidfd_open(os.getpid())]
        server = subprocess.Popen(
            [sys.executable, __file__, *map(str, files)], pass_fds=files, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
        )
    os.close(files[1])
    os.environ[SERVER] = path
    atexit.register(_stop, server, folder, os.getpid())
    return path


def _stop(server, folder, owner):
    if os.getpid() == owner:  # not in what was forked from it
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


class WarmProvisioner(LocalProvisioner):
    """Starts a kernel as a fork of the server, and a plain one where there is a reason to."""

    async def launch_kernel(self, cmd, **options):
        try:
            self.process = _fork(cmd, **options)
        except Refused as reason:
            _say(f'a plain kernel in place of a warm one: {reason}')
            return await super().launch_kernel(cmd, **options)
        self.pid = self.pgid = self.process.pid
        self.cwd = options.get('cwd') or os.getcwd()
        return self.connection_info

    async def kill(self, restart=False):
        await super().kill(restart)
        await self._expect_end()

    async def shutdown_requested(self, restart=False):
        await self._expect_end()

    async def _expect_end(self):
        """Wait for the process to end, which is near, in finer steps than the 0.1 s of jupyter_client."""
        for _ in range(100):
            if await self.poll() is not None:
                break
            await asyncio.sleep(0.005)


def _fork(cmd, *, env=None, cwd=None, stdin=None, stdout=None, stderr=None, independent=False, **others):
    """A kernel forked from the server, as a `Process`; takes what `jupyter_client.launch_kernel` takes."""
    if reason := why_not():
        raise Refused(reason)
    if cmd[:3] != [sys.executable, '-m', 'ipykernel_launcher']:
        raise Refused(f'it is started by {" ".join(cmd)}')
    if independent or stdin is not None or subprocess.PIPE in (stdout, stderr) or others.keys() - {'kernel_id'}:
        raise Refused('it is started with options that only a plain one has')
    env = {**(os.environ if env is None else env), 'JPY_PARENT_PID': str(os.getpid())}
    with open(os.devnull, 'w') as null:
        out = _descriptor(stdout, 1, null)
        error = out if stderr == subprocess.STDOUT else _descriptor(stderr, 2, null)
        return _ask({'arguments': cmd[3:], 'env': env, 'cwd': os.path.abspath(cwd or '.')}, [out, error])


def _descriptor(stream, inherited, null):
    """The number of the open file that Popen would use for `stream`."""
    if stream is None:
        return inherited
    if stream == subprocess.DEVNULL:
        return null.fileno()
    return stream if isinstance(stream, int) else stream.fileno()


def _ask(request, streams):
    """Have the server fork a kernel whose output and errors go to the open files `streams`; gives its `Process`."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(START_SECONDS)
    try:
        connection.connect(os.environ.get(SERVER) or start())
        socket.send_fds(connection, [json.dumps(request).encode()], streams)
        answer = json.loads(connection.recv(MESSAGE_BYTES) or '{"refused": "the server of warm kernels has died"}')
    except OSError as error:
        answer = {'refused': f'the server of warm kernels does not answer ({error})'}
    if 'refused' in answer:
        connection.close()
        raise Refused(answer['refused'])
    return Process(answer['pid'], connection)


class Process:
    """A forked kernel, with what LocalProvisioner needs of a Popen.

    Its number stays its own while the connection is open. When the connection is closed, at the latest with the
    process that holds it, the kernel is killed.
    """

    stdin = stdout = stderr = returncode = None

    def __init__(self, pid, connection):
        self.pid, self._connection = pid, connection

    def wait(self, timeout=None):
        """The exit code, negative for a signal. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                said = self._connection.recv(MESSAGE_BYTES)
            except (BlockingIOError, TimeoutError):
                raise subprocess.TimeoutExpired('the kernel', timeout) from None
            except OSError:
                said = b''
            self.returncode = int(said or -signal.SIGKILL)  # nothing said: the server has died, and kernels follow it
            self._connection.close()
        return self.returncode

    def poll(self):
        """The exit code, or None while the kernel runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)


@functools.cache
def _say(message):
    """Warn, once for each message."""
    warnings.warn(message, stacklevel=3)


# ---- in the server ----

def main():
    """What `warm.py LISTENER OWNER` does: the arguments are open files, of a socket and of pidfd_open."""
    del sys.path[0]  # the folder of this file, which a plain kernel does not have
    server = Server(*map(int, sys.argv[1:]))
    request = server.run()
    if request:
        become_kernel(request, server)
        threading._shutdown()  # as at every end of Python, but then without clearing the memory, which would copy it
        atexit._run_exitfuncs()
        sys.__stdout__.flush()
        os._exit(0)


def preload():
    """Import what notebooks import; gives the reason why kernels must not be forked from this process, or None."""
    if not os.environ.get('MPLBACKEND'):
        os.environ['MPLBACKEND'] = 'module://matplotlib_inline.backend_inline'  # as ipykernel does
    gc.disable()  # collections would leave holes, which every kernel fills and so copies
    for name in PRELOAD:
        try:
            importlib.import_module(name)
        except Exception as error:
            return f'the server of warm kernels cannot import {name}: {error}'
    gc.freeze()  # collections in a kernel would touch, and so copy, what all kernels share
    threads = len(os.listdir('/proc/self/task'))
    if threads > 1:
        return (
            f'the server of warm kernels has {threads} threads after its imports, so that its kernels could hang; '
            'are OMP_NUM_THREADS, MKL_NUM_THREADS and OPENBLAS_NUM_THREADS 1?'
        )
    return None


def read_at_start(environment):
    """The part of an environment that Python and libraries read when they start, as a dict."""
    return {name: value for name, value in environment.items()
            if name.startswith(READ_AT_START) and name != 'PYTHONPATH'}


class Server:
    """Forks kernels until the process `owner`, an open file of pidfd_open, ends.

    Each connection to the socket `listener` asks for one kernel and is told its exit code. When the connection is
    closed, as it is at the end of the process that asked, what is left of the kernel and of its processes is killed.
    """

    def __init__(self, listener, owner):
        self.pid, self.environment = os.getpid(), dict(os.environ)
        self.refusal = preload()
        self.kernels = {}  # connection -> (process id, open file of pidfd_open)
        self.events = selectors.DefaultSelector()
        self.listener = socket.socket(fileno=listener)
        self._when(self.listener, self._accept)
        self._when(owner, sys.exit)

    def _when(self, file, action, *arguments):
        """Call the action when the file has something to read or has ended."""
        self.events.register(file, selectors.EVENT_READ, functools.partial(action, *arguments))

    def run(self):
        """Serve to the end and give None; in each forked kernel, give the request for it."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        try:
            while True:
                for key, _ in self.events.select()[:1]:  # one at a time: an action may close the next one's file
                    if request := key.data():
                        return request
        except SystemExit:
            for connection in list(self.kernels):
                self._end(connection)
            shutil.rmtree(os.path.dirname(self.listener.getsockname()), ignore_errors=True)

    def _accept(self):
        """Answer one request; gives it in the forked kernel."""
        connection, _ = self.listener.accept()
        connection.settimeout(10)
        streams, pid = [], None
        try:
            message, streams, *_ = socket.recv_fds(connection, MESSAGE_BYTES, 2)
            request = json.loads(message)
            self._check(request)
            pid = os.fork()
        except (OSError, ValueError, Refused) as reason:  # ValueError: who asked is gone
            with contextlib.suppress(OSError):
                connection.send(json.dumps({'refused': str(reason)}).encode())
            connection.close()
        if pid == 0:
            self._leave(connection, streams)
            return request
        for stream in streams:
            os.close(stream)
        if pid:
            self.kernels[connection] = pid, os.pidfd_open(pid)
            self._when(connection, self._end, connection)
            self._when(self.kernels[connection][1], self._report, connection)

    def _check(self, request):
        """Raises Refused where a plain kernel would be another one."""
        if self.refusal:
            raise Refused(self.refusal)
        wanted, known = map(read_at_start, (request['env'], self.environment))
        if differing := {name for name, _ in wanted.items() ^ known.items()}:
            raise Refused(f'it is to have other {", ".join(sorted(differing))} than the server of warm kernels')

    def _leave(self, connection, streams):
        """In the child: become a process of its own, tell its number, and close what is the server's."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setsid()
        for number, stream in enumerate(streams, 1):
            os.dup2(stream, number)
            os.close(stream)
        connection.send(json.dumps({'pid': os.getpid()}).encode())
        for file in [connection, *(key.fileobj for key in self.events.get_map().values())]:
            file.close() if isinstance(file, socket.socket) else os.close(file)
        self.events.close()

    def _report(self, connection):
        """Tell the exit code of a kernel; its number is not given to another process before `_end`."""
        pid, watched = self.kernels[connection]
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(OSError):
            connection.send(str(ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status).encode())
        self.events.unregister(watched)

    def _end(self, connection):
        """Kill what is left of a kernel."""
        pid, watched = self.kernels.pop(connection)
        for kill in (os.kill, os.killpg):
            with contextlib.suppress(OSError):
                kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        for file in (connection, watched):
            with contextlib.suppress(KeyError):  # `_report` has unregistered it
                self.events.unregister(file)
        connection.close()
        os.close(watched)


def become_kernel(request, server):
    """Be the kernel that `python -m ipykernel_launcher` would be: its streams and process are set already."""
    os.chdir(request['cwd'])
    set_by_imports = {name: value for name, value in os.environ.items() if name not in server.environment}
    os.environ.clear()
    os.environ.update(set_by_imports | request['env'])
    if folders := os.environ.get('PYTHONPATH'):
        sys.path[:0] = map(os.path.abspath, folders.split(os.pathsep))
    sys.argv = [importlib.util.find_spec('ipykernel_launcher').origin, *request['arguments']]
    multiprocessing.process.ORIGINAL_DIR, tempfile.tempdir = request['cwd'], None  # kept from the server's start
    sys.modules['numpy'].random.seed()  # all forks have one state of it
    sys.modules.pop('__mp_main__', None)  # this file, under the name that multiprocessing gives to what is running
    gc.enable()
    app = sys.modules['ipykernel.kernelapp'].IPKernelApp.instance(parent_handle=server.pid)  # and ends with it
    app.initialize(sys.argv[1:])
    app.start()


if __name__ == '__main__':
    main()
