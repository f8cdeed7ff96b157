"""Kernels do what Jupyter's own do, end with all that they started, and say how they ended: each test is a trap that one of
them fell into or could.
"""
import os
import signal
import subprocess
import sys
import textwrap
import time

import nbclient
import nbformat
import psutil
import pytest

from nbutils.maintain import environment, execute, svg

pytestmark = [pytest.mark.timeout(120), pytest.mark.skipif(bool(execute.cold()), reason=f'no forked kernels: {execute.cold()}')]


@pytest.fixture
def kernel(tmp_path):
    with execute.Kernel(tmp_path) as running:
        yield running


def printed(kernel, code, seconds=60):
    """What a cell prints. Raises RuntimeError with its traceback where it fails."""
    outputs = kernel.run(textwrap.dedent(code), seconds)
    for output in outputs:
        if output['output_type'] == 'error':
            raise RuntimeError('\n'.join(output['traceback']))
    return ''.join(output.get('text', '') for output in outputs).strip()


def ends(*pids, seconds=20):
    """Whether all processes end soon."""
    for _ in range(50 * seconds):
        if not any(map(runs, pids)):
            return True
        time.sleep(0.02)
    return False


def runs(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


CELLS = [
    'import matplotlib.pyplot as plt\nimport numpy as np\nplt.style.use("nbutils.book")',
    'plt.contourf(np.random.default_rng(0).random((9, 9)));',
    'plt.plot([1, 3, 2], label="$x$")\nplt.legend()\nplt.show()\nprint(1)\nnp.linalg.svd(np.ones((3, 3)))',
    'print("a", end="")\nfrom IPython.display import HTML, Latex, display\ndisplay(HTML("<b>1</b>"), Latex("$x$"))\nprint("b")\n{1: 2}',
    'import asyncio\nawait asyncio.sleep(0)\nprint(_, In[4][:5], __name__)',
    'import base64\nfrom IPython.display import Image\nImage(base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="))',
    'import sympy\nsympy.sqrt(2)',
]


def test_outputs_are_those_of_jupyter(kernel, tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    environment.fix()
    nbclient.NotebookClient(notebook, kernel_name='python3', resources={'metadata': {'path': str(tmp_path)}},
                            coalesce_streams=True).execute(stderr=subprocess.DEVNULL)
    for cell in notebook.cells:
        outputs = nbformat.from_dict(kernel.run(cell.source))
        for side in (outputs, cell.outputs):
            svg.normalize(side)
        assert outputs == cell.outputs


def test_an_error_is_the_last_output(kernel):
    *_, error = kernel.run('print(1)\n1 / 0')
    assert (error['ename'], error['evalue']) == ('ZeroDivisionError', 'division by zero') and '1 / 0' in '\n'.join(error['traceback'])
    assert kernel.run('x = )')[-1]['ename'] == 'SyntaxError' and printed(kernel, 'print(2)') == '2'


@pytest.mark.parametrize('code', [
    'import os; os.system("echo out; echo err >&2")', 'import os; os.write(1, b"out\\n"); os.write(2, b"err\\n");',
    '!echo out\nimport sys; sys.stderr.write("err");', 'import sys; print("out"); print("err", file=sys.stderr)',
])
def test_output_of_other_programs_is_captured(kernel, code):
    said = {output['name']: output['text'] for output in kernel.run(code) if output['output_type'] == 'stream'}
    assert 'out' in said['stdout'] and 'err' not in said['stdout'] and 'err' in said['stderr']


def test_input_is_refused(kernel):
    assert kernel.run('input()')[-1]['ename'] == 'EOFError'


def test_nothing_of_this_project_is_there_before_it_is_imported(kernel, tmp_path):
    assert printed(kernel, "import sys; print([n for n in sys.modules if n.startswith(('nbutils', '__mp'))])") == '[]'
    assert printed(kernel, 'import os; print(os.getcwd(), os.environ["PYTHONHASHSEED"], hash("a") != 0)') == f'{tmp_path} 0 True'


def test_each_kernel_draws_its_own_random_numbers_and_sees_edited_modules(tmp_path):
    drawn = []
    for value in '12':
        (tmp_path / 'helper.py').write_text(f'value = {value}')
        with execute.Kernel(tmp_path) as kernel:
            drawn += printed(kernel, 'import numpy, random, uuid; print(numpy.random.rand(), random.random(), uuid.uuid4())').split()
            assert printed(kernel, 'import helper; print(helper.value)') == value
    assert len(set(drawn)) == 6


def test_threads_and_processes_of_a_kernel(kernel, tmp_path):
    (tmp_path / 'spawned.py').write_text('def square(x):\n    return x * x\n')
    assert printed(kernel, """
        import torch
        torch.set_num_threads(2)
        x = torch.randn(300, 300, requires_grad=True)
        (x @ x).exp().sum().backward()
        data = torch.utils.data.TensorDataset(torch.arange(8.))
        print(sum(batch.sum().item() for batch, in torch.utils.data.DataLoader(data, batch_size=2, num_workers=2)))
        """) == '28.0'  # its processes are forked from this one, which has threads
    assert printed(kernel, """
        import multiprocessing, joblib, spawned
        with multiprocessing.get_context('spawn').Pool(2) as pool:
            print(pool.map(spawned.square, range(4)), joblib.Parallel(n_jobs=2)(joblib.delayed(abs)(-x) for x in range(3)))
        """) == '[0, 1, 4, 9] [0, 1, 2]'


@pytest.mark.parametrize('busy', ['while True: pass', 'import time; time.sleep(60)'])
def test_what_takes_too_long_is_interrupted(kernel, busy):
    with pytest.raises(TimeoutError):
        kernel.run(f'x = 1\n{busy}', 0.3)
    assert printed(kernel, 'print(x)') == '1'


def test_what_heeds_no_interrupt_is_killed(kernel, monkeypatch):
    monkeypatch.setattr(execute, 'INTERRUPT_SECONDS', 0.3)
    with pytest.raises(TimeoutError):
        kernel.run('import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(60)', 0.3)
    assert ends(kernel.process.pid)


@pytest.mark.parametrize('code', [
    'os._exit(3)', 'import ctypes; ctypes.string_at(0)', 'import signal; os.kill(os.getpid(), signal.SIGKILL)',
    'os.fork() or time.sleep(60)\nos._exit(1)',  # one that lives holds the pipe
])
def test_a_kernel_that_dies(kernel, code):
    child = int(printed(kernel, 'import os, subprocess, time; print(subprocess.Popen(["sleep", "100"]).pid)'))
    with pytest.raises(execute.Died, match='the kernel died'):
        kernel.run(code, 30)
    with pytest.raises(execute.Died):
        kernel.run('1')
    kernel.stop()
    assert ends(kernel.process.pid, child)


def test_its_processor_time_is_known(kernel):
    kernel.run('import time\ntime.sleep(0.5)')
    before = kernel.seconds
    kernel.run('while time.process_time() < 1: pass')
    assert before < 0.5 and 1 <= kernel.seconds < 2


ASKING = """
import sys, time
from nbutils.maintain import execute
if __name__ == '__main__':
    kernel = execute.Kernel('.')
    kernel.send('import os, subprocess; print(os.getppid(), os.getpid(), subprocess.Popen(["sleep", "100"]).pid)')
    print(kernel.receive()[0]['text'], flush=True)
    kernel.send(sys.argv[1])
    time.sleep(float(sys.argv[2]))
"""


@pytest.mark.parametrize('cell, seconds', [('1', 60), ('while True: pass', 60), ('while True: pass', 0)])
def test_nothing_is_left_of_what_a_process_has_started(tmp_path, cell, seconds):
    (tmp_path / 'asking.py').write_text(ASKING)
    asking = subprocess.Popen([sys.executable, 'asking.py', cell, str(seconds)], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    pids = [int(word) for word in asking.stdout.readline().split()]
    if seconds:
        asking.kill()
    assert asking.wait(20) == (-signal.SIGKILL if seconds else 0) and len(pids) == 3 and ends(*pids)


@pytest.mark.parametrize('change, reason', [
    (lambda patch: patch.setenv('COLD', '1'), 'COLD is set'),
    (lambda patch: patch.setattr(sys, 'platform', 'darwin'), 'kernels are forked on Linux only, and this is darwin'),
    (lambda patch: patch.setattr(execute, 'cold', lambda: None), None),
])
def test_fresh_processes_where_kernels_cannot_be_forked(change, reason, monkeypatch, tmp_path):
    change(monkeypatch)
    assert execute.cold() == reason
    with execute.Kernel(tmp_path) as kernel:
        assert (int(printed(kernel, 'import os; print(os.getppid())')) == os.getpid()) == bool(reason)


THREADED = "import threading, time\nthreading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n"


def test_a_process_with_threads_is_not_forked(tmp_path):
    (tmp_path / 'threaded.py').write_text(THREADED)
    code = """if True:
        from nbutils.maintain import execute
        execute.ALWAYS.append('threaded')
        execute.preload([])
        with execute.Kernel('.') as kernel:
            print(kernel.run('print(1)')[0]['text'])
        """
    done = subprocess.run([sys.executable, '-c', code], cwd=tmp_path, capture_output=True, text=True,
                          env=os.environ | {'PYTHONPATH': os.pathsep.join([str(tmp_path), os.environ.get('PYTHONPATH', '')])})
    assert done.stdout.strip() == '1' and 'has 2 threads, and they could hang' in done.stderr
