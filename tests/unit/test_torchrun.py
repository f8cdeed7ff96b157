"""The script of the section on distributed training, started as its words say: by torchrun, on two processes."""
import ast
import re
import subprocess
import sys
from pathlib import Path

SECTION = Path(__file__).parents[2] / 'notebooks' / 'builders_guide' / 'distributed_training.py'


def test_torchrun_starts_the_script_and_both_processes_find_the_weights(tmp_path):
    said = re.search(r"^script = ('''.*?''')$", SECTION.read_text('utf-8'), re.S | re.M)
    (tmp_path / 'script.py').write_text(ast.literal_eval(said[1]))
    to_files = ['--redirects', '3', '--log-dir', str(tmp_path / 'logs')]  # in one stream the lines of two processes can mix
    torchrun = [sys.executable, '-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', '2', *to_files, 'script.py']
    done = subprocess.run(torchrun, cwd=tmp_path, capture_output=True, encoding='utf-8', timeout=120)
    assert done.returncode == 0, done.stderr
    said = sorted(file.read_text() for file in (tmp_path / 'logs').rglob('stdout.log'))
    assert said == [f'process {k} of 2: 32 rows, weights 2.00 -1.00\n' for k in range(2)]
