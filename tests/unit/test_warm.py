"""Warm kernels do all that plain ones do, on real kernels: each test is a trap that one of them fell into or could."""
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import psutil
import pytest
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning import KernelProvisionerFactory

from nbutils.maintain import notebooks, record, warm

pytestmark = [
    pytest.mark.skipif(bool(warm.why_not()), reason=f'no warm kernels: {warm.why_not()}'),
    pytest.mark.timeout(120),
    pytest.mark.filterwarnings('ignore:a plain kernel in place of a warm one. COLD is set'),
]
ENTRY_POINTS = f'[{KernelProvisionerFactory.GROUP_NAME}]\n{warm.NAME} = nbutils.maintain.warm:WarmProvisioner\n'


@pytest.fixture(scope='module')
def entry_point(tmp_path_factory):
    """A folder that, on sys.path, registers the provisioner as an installed nbutils does."""
    folder = tmp_path_factory.mktemp('installed')
    installed = folder / 'warm_kernels-0.dist-info'
    installed.mkdir()
    (installed / 'METADATA').write_text('Metadata-Version: 2.1\nName: warm-kernels\nVersion: 0\n')
    (installed / 'entry_points.txt').write_text(ENTRY_POINTS)
    return folder


@pytest.fixture(scope='module')
def server(entry_point):
    """The path of a running server's socket."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(warm.SERVER, '')
        yield warm.start()


@pytest.fixture
def warmed(server, entry_point, monkeypatch):
    """This process has warm kernels."""
    monkeypatch.syspath_prepend(entry_point)
    monkeypatch.setenv(warm.SERVER, server)
    monkeypatch.setenv(warm.SELECTED, '')
    monkeypatch.setattr(KernelProvisionerFactory.instance(), 'default_provisioner_name', 'local-provisioner')
    warm._say.cache_clear()
    assert warm.enable() is None


class Kernel:
    """A running kernel."""

    def __init__(self, **options):
        self.manager = KernelManager(kernel_name='python3')
        options.setdefault('stderr', subprocess.DEVNULL)
        self.manager.start_kernel(**options)
        self.connect()

    def connect(self):
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def messages(self, code, timeout=60):
        """What a cell gives, as messages of the Jupyter protocol."""
        found = []
        self.client.execute_interactive(
            textwrap.dedent(code), allow_stdin=False, timeout=timeout, output_hook=found.append)
        return found

    def run(self, code, timeout=60):
        """What a cell prints. Raises RuntimeError with its traceback where it fails."""
        found = self.messages(code, timeout)
        for message in found:
            if message['msg_type'] == 'error':
                raise RuntimeError('\n'.join(message['content']['traceback']))
        return ''.join(m['content']['text'] for m in found if m['msg_type'] == 'stream').strip()

    @property
    def process(self):
        return self.manager.provisioner.process

    def stop(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture
def kernel(warmed):
    """Gives a function that starts a kernel; all are stopped at the end."""
    with contextlib.ExitStack() as stack:
        def start(**options):
            running = Kernel(**options)
            stack.callback(running.stop)
            return running

        yield start


def is_warm(running):
    return isinstance(running.process, warm.Process)


def ends(*pids, seconds=20):
    """Whether all processes end soon, and leave no zombie."""
    give_up = time.monotonic() + seconds
    while any(os.path.exists(f'/proc/{pid}') for pid in pids):
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True


# ---- as a plain kernel ----

STATE = '''
import gc, json, multiprocessing.process, os, signal, sys, tempfile
os.umask(umask := os.umask(0))
env = {k: v for k, v in os.environ.items() if not k.startswith(('KMP_', 'TORCHINDUCTOR_'))}  # their imports set these
print(json.dumps({
    'env': env, 'cwd': os.getcwd(), 'argv': sys.argv[0], 'path': sys.path, 'umask': umask, 'gc': gc.isenabled(),
    'main': sys.modules['__main__'].__dict__ is globals(), 'leads': [os.getsid(0), os.getpgid(0)] == [os.getpid()] * 2,
    'signals': {s: str(signal.getsignal(s)).split(' at ')[0] for s in signal.valid_signals()},
    'spawned from': multiprocessing.process.ORIGINAL_DIR, 'temporary': tempfile.gettempdir(),
    # hypothesis draws from the constants in the source of what is loaded and not installed: this must not be the server
    'ours': [name for name, module in sys.modules.items() if 'maintain' in str(getattr(module, '__file__', name))],
    'stdin': sys.__stdin__.read(),
}, indent=1, sort_keys=True))
'''


def test_the_process_is_as_a_plain_one(kernel, tmp_path, monkeypatch):
    (tmp_path / 'own').mkdir()
    monkeypatch.setenv('PYTHONPATH', str(tmp_path / 'own'))
    monkeypatch.setenv('TMPDIR', str(tmp_path))
    options = {'cwd': str(tmp_path), 'env': {**os.environ, 'BOOK': 'yes'}}
    forked = kernel(**options)
    monkeypatch.setenv('COLD', '1')
    with pytest.warns(UserWarning, match='COLD is set'):
        plain = kernel(**options)
    assert is_warm(forked) and not is_warm(plain)
    assert forked.run(STATE) == plain.run(STATE)


def test_a_notebook_gives_the_same_bytes(warmed, tmp_path, monkeypatch):
    section = tmp_path / 'section.py'
    section.write_text(textwrap.dedent('''
        # %%
        import matplotlib.pyplot as plt
        import numpy as np
        plt.style.use('nbutils.book')

        # %%
        plt.contourf(np.random.default_rng(0).random((9, 9)));

        # %%
        plt.plot([1, 3, 2], label='$x$')
        plt.legend()
        plt.show()
        np.linalg.svd(np.ones((3, 3)))
        '''))
    forked = record.execute(notebooks.read(section), section)
    monkeypatch.setenv('COLD', '1')
    assert warm.enable() == 'COLD is set'
    plain = record.execute(notebooks.read(section), section)
    assert forked == plain
    drawn = [list(output.data) for cell in forked.cells for output in cell.outputs]
    assert drawn[0] == drawn[1] == ['text/plain', 'image/svg+xml']


@pytest.mark.parametrize('how', ['warm', 'plain'])
def test_output_of_other_programs_is_captured(kernel, monkeypatch, how):
    monkeypatch.setenv('COLD', '' if how == 'warm' else '1')
    monkeypatch.delenv('PYTEST_CURRENT_TEST')  # where it is set, ipykernel leaves files 1 and 2 alone
    running = kernel()
    assert is_warm(running) == (how == 'warm')
    for code in ('import os; os.system("echo out; echo err >&2")', 'os.write(1, b"out\\n"); os.write(2, b"err\\n")',
                 'import subprocess; subprocess.run("echo out; echo err >&2", shell=True)', '!echo out; echo err >&2',
                 'import sys; print("out"); print("err", file=sys.stderr)'):
        running.client.execute(code)
        streams = {'stdout': '', 'stderr': ''}
        while not ('out' in ''.join(streams.values()) and 'err' in ''.join(streams.values())):
            content = running.client.get_iopub_msg(timeout=20)['content']  # some after the cell has ended
            if 'text' in content:
                streams[content['name']] += content['text']
        assert 'out' in streams['stdout'] and 'out' not in streams['stderr'], code


@pytest.mark.parametrize('how', ['warm', 'plain'])
@pytest.mark.parametrize('together', [True, False])
def test_output_goes_to_the_files_of_the_process(kernel, tmp_path, monkeypatch, how, together):
    monkeypatch.setenv('COLD', '' if how == 'warm' else '1')
    with (tmp_path / 'out').open('w') as out, (tmp_path / 'err').open('w') as err:
        running = kernel(stdout=out, stderr=subprocess.STDOUT if together else err.fileno())
    running.run('import os; os.system("echo out; echo err >&2")')
    said = [(tmp_path / name).read_text().splitlines() for name in ('out', 'err')]
    assert 'out' in said[0] and ('err' in said[0]) == together and ('err' in said[1]) == (not together)


def test_input_is_refused(kernel):
    with pytest.raises(RuntimeError, match='StdinNotImplementedError'):
        kernel().run('input()')


def test_each_kernel_draws_its_own_random_numbers(kernel):
    code = 'import numpy, random, uuid; print(numpy.random.rand(), random.random(), uuid.uuid4())'
    first, second = (kernel().run(code).split() for _ in range(2))
    assert not set(first) & set(second)


def test_edited_modules_are_seen(kernel, tmp_path):
    module = tmp_path / 'helper.py'
    for value in '12':
        module.write_text(f'value = {value}')
        assert kernel(cwd=str(tmp_path)).run('import helper; print(helper.value)') == value


# ---- what the fork of a process with threads would break ----

def test_two_threads_of_torch(kernel):
    assert kernel().run("""
        import torch
        torch.set_num_threads(2)
        x = torch.randn(300, 300, requires_grad=True)
        (x @ x).exp().sum().backward()
        layer = torch.nn.Conv2d(3, 16, 3)
        layer(torch.randn(4, 3, 64, 64)).sum().backward()
        print(torch.get_num_threads(), len(torch.linalg.svdvals(x)))
        """) == '2 300'


def test_processes_of_a_kernel(kernel, tmp_path):
    (tmp_path / 'spawned.py').write_text('def square(x):\n    return x * x\n')
    running = kernel(cwd=str(tmp_path))
    assert running.run("""
        import torch
        data = torch.utils.data.TensorDataset(torch.arange(8.))
        print(sum(batch.sum().item() for batch, in torch.utils.data.DataLoader(data, batch_size=2, num_workers=2)))
        """) == '28.0'
    assert running.run("""
        import numpy as np
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import cross_val_score
        x = np.arange(40.)[:, None]
        print(cross_val_score(LogisticRegression(), x, x[:, 0] > 19.5, cv=2, n_jobs=2))
        """).startswith('[')
    assert running.run("""
        import multiprocessing, spawned
        with multiprocessing.get_context('spawn').Pool(2) as pool:
            print(pool.map(spawned.square, range(4)))
        """) == '[0, 1, 4, 9]'


def test_memory_is_shared(kernel):
    assert kernel().run("""
        import gc
        gc.collect()
        sizes = dict(line.split()[:2] for line in open('/proc/self/smaps_rollup').read().splitlines()[1:])
        private = int(sizes['Private_Dirty:']) + int(sizes['Private_Clean:'])
        print(int(sizes['Rss:']) > 3 * private)
        """) == 'True'


# ---- interrupt, restart, end ----

@pytest.mark.parametrize('busy', [
    'while True: pass', 'import time; time.sleep(60)', 'import torch; x = torch.ones(2000, 2000)\nwhile True: x @ x',
])
def test_interrupt(kernel, busy):
    running = kernel()
    asked = running.client.execute(busy, stop_on_error=False)
    time.sleep(0.3)
    running.manager.interrupt_kernel()
    while (reply := running.client.get_shell_msg(timeout=20))['parent_header']['msg_id'] != asked:
        pass  # from the start
    assert reply['content']['ename'] == 'KeyboardInterrupt'
    assert running.run('print(1)') == '1'


@pytest.mark.parametrize('now', [True, False])
def test_restart(kernel, now):
    running = kernel()
    running.run('x = 1')
    old = running.process.pid
    running.client.stop_channels()
    running.manager.restart_kernel(now=now)
    running.connect()
    assert running.run('print("x" in globals())') == 'False'
    assert is_warm(running) and running.process.pid != old and ends(old)


def test_shutdown_runs_what_is_registered_for_the_end(kernel, tmp_path):
    running = kernel(cwd=str(tmp_path))
    running.run('import atexit, pathlib; atexit.register(pathlib.Path("ended").touch)')
    process = running.process
    running.manager.shutdown_kernel()
    assert process.returncode == 0 and (tmp_path / 'ended').exists() and ends(process.pid)


@pytest.mark.parametrize('code, number', [
    ('import os; os._exit(3)', 3),
    ('import ctypes; ctypes.string_at(0)', -signal.SIGSEGV),
    ('import os, signal; os.kill(os.getpid(), signal.SIGKILL)', -signal.SIGKILL),
])
def test_a_kernel_that_dies(kernel, code, number):
    running = kernel()
    child = int(running.run('import subprocess; print(subprocess.Popen(["sleep", "100"]).pid)'))
    running.client.execute(code)
    assert running.process.wait(20) == number and not running.manager.is_alive()
    running.process.send_signal(signal.SIGINT)  # to a process that is gone
    running.process.kill()
    assert ends(running.process.pid, child)


def test_waiting_for_a_kernel_that_runs(kernel):
    running = kernel()
    assert running.process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        running.process.wait(0.01)
    running.process.terminate()
    assert running.process.wait(20) in (-signal.SIGTERM, 0)


@pytest.mark.parametrize('cell, message', [
    ('import time\ntime.sleep(60)', 'took more than 2 s'),
    ('import os\nos._exit(1)', 'the kernel died'),
])
def test_recording_on_warm_kernels(warmed, tmp_path, monkeypatch, cell, message):
    monkeypatch.setattr(record, 'CELL_SECONDS', 2)
    section = tmp_path / 'section.py'
    section.write_text(f'# %%\n{cell}\n')
    with pytest.raises(record.Refused, match=message):
        record.record(section)


# ---- nothing is left running ----

CLIENT = """
import os, time
from nbutils.maintain import warm
warm.__file__ = os.environ['SERVER_PROGRAM']
reason = warm.enable()
assert reason is None, reason
print(os.environ[warm.SERVER], flush=True)
"""
WITH_KERNEL = """
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name='python3', stderr=-3)
code = 'import os, subprocess; print(os.getppid(), os.getpid(), subprocess.Popen(["sleep", "100"]).pid)'
client.execute_interactive(code, output_hook=lambda m: print(m['content'].get('text', ''), end='', flush=True))
"""


def program(folder, *modules):
    """The path of a server's program that imports little, and so starts quickly."""
    path = folder / 'server.py'
    before, _, rest = Path(warm.__file__).read_text().partition('PRELOAD = (')
    path.write_text(f"{before}PRELOAD = {('ipykernel.kernelapp', 'numpy', *modules)}{rest.partition(')')[2]}")
    return str(path)


@pytest.fixture
def client(entry_point, tmp_path):
    """Gives a function that runs `CLIENT` and more code; gives the process and the folder of its server."""
    with contextlib.ExitStack() as stack:
        def start(code, **environment):
            here = {'PYTHONPATH': str(entry_point), 'SERVER_PROGRAM': program(tmp_path)}
            running = stack.enter_context(subprocess.Popen(
                [sys.executable, '-c', CLIENT + code], stdout=subprocess.PIPE, text=True,
                env={**os.environ, **here, **environment}))
            stack.callback(running.kill)
            return running, Path(running.stdout.readline().strip()).parent

        yield start


def numbers(running):
    """The next line of a process, as a list of integers."""
    return [int(word) for word in running.stdout.readline().split()]


def test_a_process_killed_takes_its_kernels_with_it(client, kernel):
    asking, _ = client(WITH_KERNEL + 'time.sleep(60)')
    server, *own = numbers(asking)
    other = kernel()
    asking.kill()
    assert ends(*own) and other.run('import os; print(os.getppid())') == str(server)


@pytest.mark.parametrize('killed', [False, True])
def test_the_server_ends_with_its_owner(client, killed):
    busy = 'client.execute("while True: pass"); time.sleep(60)'
    owner, folder = client(WITH_KERNEL + busy * killed, **{warm.SERVER: ''})
    own = numbers(owner)
    assert len(own) == 3 and (killed or owner.wait(20) == 0)
    owner.kill()
    assert ends(*own) and not folder.exists()


def test_an_owner_killed_while_its_server_starts(client):
    owner, folder = client('time.sleep(60)', **{warm.SERVER: ''})
    server, = psutil.Process(owner.pid).children()
    owner.kill()
    assert folder.is_dir() and ends(server.pid) and not folder.exists()


@pytest.fixture
def other_server(monkeypatch, tmp_path):
    """Gives a function that has kernels forked from a server that imports little and some modules."""
    def start(*modules):
        monkeypatch.setattr(warm, '__file__', program(tmp_path, *modules))
        monkeypatch.setenv(warm.SERVER, warm.start())

    return start


def test_a_server_killed_takes_its_kernels_with_it(kernel, other_server):
    other_server()
    running = kernel()
    os.kill(int(running.run('import os; print(os.getppid())')), signal.SIGKILL)
    assert running.process.wait(20) == -signal.SIGKILL and ends(running.process.pid)
    with pytest.warns(UserWarning, match='a plain kernel in place of a warm one: the server .* does not answer'):
        assert kernel().run('print(1)') == '1'


# ---- plain kernels where warm ones cannot be had ----

@pytest.mark.parametrize('change, reason', [
    (lambda patch: patch.setenv('COLD', '1'), 'COLD is set'),
    (lambda patch: patch.setattr(sys, 'platform', 'darwin'), 'kernels are forked on Linux only, and this is darwin'),
    (lambda patch: patch.delattr(os, 'pidfd_open'), 'this system cannot watch a process'),
    (lambda patch: patch.setattr(warm, 'NAME', 'other'), 'the entry point other is not installed'),
    (lambda patch: (patch.setenv(warm.SERVER, ''), patch.setattr(tempfile, 'mkdtemp', lambda prefix: '/lost')),
     'the server of warm kernels cannot be started'),
])
def test_reasons_for_plain_kernels(warmed, change, reason):
    factory = KernelProvisionerFactory.instance()
    with pytest.MonkeyPatch.context() as patch:
        change(patch)
        assert warm.enable().startswith(reason)
        assert os.environ[warm.SELECTED] == factory.default_provisioner_name == 'local-provisioner'
    assert warm.enable() is None
    assert os.environ[warm.SELECTED] == factory.default_provisioner_name == warm.NAME


@pytest.mark.parametrize('options, reason', [
    ({'env': {**os.environ, 'OMP_NUM_THREADS': '3', 'X': '1'}}, 'it is to have other OMP_NUM_THREADS than the server'),
    ({'independent': True}, 'options that only a plain one has'),
])
def test_a_kernel_that_must_be_plain(kernel, options, reason):
    with pytest.warns(UserWarning, match=reason):
        running = kernel(**options)
    threads = options.get('env', os.environ)['OMP_NUM_THREADS']
    assert not is_warm(running) and running.run('import os; print(os.environ["OMP_NUM_THREADS"])') == threads


@pytest.mark.parametrize('module, threads, reason', [
    ('numpy.linalg', '2', 'the server of warm kernels has 2 threads after its imports'),
    ('lost', '1', "the server of warm kernels cannot import lost: No module named 'lost'"),
])
def test_a_server_that_is_not_fit(kernel, other_server, monkeypatch, module, threads, reason):
    monkeypatch.setenv('OPENBLAS_NUM_THREADS', threads)
    other_server(module)
    with pytest.warns(UserWarning, match=reason):
        running = kernel()
    assert not is_warm(running) and running.run('print(1)') == '1'
