"""Try the graders of exercises: `python -m nbutils.maintain.graders [--all] [FILE.py ...]` (`make graders`).

The official solution of an exercise is changed by small edits (nbutils.maintain.mutations and `Slips`), as a reader might
go wrong: a boundary turned, an argument ignored, `abs` or `max` left out, a branch or a term dropped. A mutant that the
grader accepts survives. It is killed by a further case, or it is equivalent: no argument that the stub allows shows a
difference. Then it is listed, with the reason, in tests/graders/CHAPTER/SECTION.yml, where also stands what the cells of
each exercise were when its grader was last tried. Without files, the exercises that have changed since are tried.

Only the statements of a notebook that an exercise hangs on are executed.
"""
import argparse
import ast
import os
import signal
import sys
import time
from pathlib import Path
from typing import NamedTuple

import libcst as cst
import yaml

from nbutils.maintain import environment, faults, lint, mutations, notebooks, sections

GOAL = 0.995
RECORDS = notebooks.ROOT / 'tests' / 'graders'
SECONDS = 300  # an exercise takes a few
SPARE = 1  # seconds that a mutant may take beside 20 times what the solution takes
LEAVING_OUT = set('''
    abs sqrt maximum minimum max min clip sort sorted exp log square sign copy flip conj clone contiguous detach round floor
    ceil log1p expm1 softmax cumsum unique reversed relu norm nan_to_num where'''.split())
LIBRARIES = {'np', 'torch', 'math', 'F', 'np.linalg', 'torch.linalg'}
OF_TWO = {'max', 'min', 'maximum', 'minimum'}
OTHER_CALL = {
    'max': 'min', 'maximum': 'minimum', 'argmax': 'argmin', 'amax': 'amin', 'sum': 'mean', 'floor': 'ceil', 'any': 'all',
}
OTHER_CALL |= {now: was for was, now in OTHER_CALL.items()}
DROPPED_KEYWORDS = set('keepdims keepdim ddof correction initial lower side key reverse mode default k'.split())
STRICT = {cst.LessThan: cst.LessThanEqual, cst.GreaterThan: cst.GreaterThanEqual}
STRICT |= {now: was for was, now in STRICT.items()}


# ---- mutants ----

class Slips(mutations.Finder):
    """Finds, besides the edits of faults, those that a reader makes for want of a case: see the module."""

    def visit_FunctionDef(self, node):
        for parameter in node.params.params:
            name = parameter.name.value
            for value in ('0 * {0}', '0 * {0} + 1'):
                line = cst.parse_statement(f'{name} = {value.format(name)}')
                body = node.body
                if isinstance(body, cst.IndentedBlock):
                    self.add('ignored', body, body.with_changes(body=[line, *body.body]))

    def visit_ComparisonTarget(self, node):
        super().visit_ComparisonTarget(node)
        if new := STRICT.get(type(node.operator)):
            self.add('boundary', node.operator, new())

    def visit_BinaryOperation(self, node):
        super().visit_BinaryOperation(node)
        if isinstance(node.operator, (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.Power, cst.FloorDivide)):
            self.add('term', node, mutations.grouped(node.left))
        if isinstance(node.operator, (cst.Add, cst.Multiply)):
            self.add('term', node, mutations.grouped(node.right))

    def visit_BooleanOperation(self, node):
        self.add('term', node, mutations.grouped(node.left))
        self.add('term', node, mutations.grouped(node.right))

    def visit_UnaryOperation(self, node):
        super().visit_UnaryOperation(node)
        if isinstance(node.operator, cst.BitInvert):
            self.add('sign', node, node.expression)

    def visit_IfExp(self, node):
        self.add('branch', node, mutations.grouped(node.body))
        self.add('branch', node, mutations.grouped(node.orelse))

    def visit_If(self, node):
        self.add('branch', node.test, cst.Name('True'))
        self.add('branch', node.test, cst.Name('False'))

    def visit_Integer(self, node):
        super().visit_Integer(node)
        if node.evaluated_value > 0:
            self.nudge(node, cst.Integer(str(node.evaluated_value - 1)))

    def visit_Call(self, node):
        name, args = mutations.called(node), node.args
        if name in LEAVING_OUT:
            if isinstance(node.func, cst.Attribute) and self.text(node.func.value) not in LIBRARIES:
                inner = [node.func.value]
            else:
                inner = [arg.value for arg in args[:2 if name in OF_TWO else 1] if not arg.keyword and not arg.star]
            for value in inner:
                if not isinstance(value, cst.GeneratorExp):
                    self.add('unwrapped', node, mutations.grouped(value))
        if name in OTHER_CALL:
            plain = cst.Name(OTHER_CALL[name])
            if isinstance(node.func, cst.Attribute):
                self.add('function', node.func, node.func.with_changes(attr=plain))
            elif name != 'sum':
                self.add('function', node.func, plain)
        for i, arg in enumerate(args):
            if arg.keyword and arg.keyword.value in DROPPED_KEYWORDS:
                self.add('keyword', node, _without(node, i))
        if name in ('std', 'var') and not any(arg.keyword and arg.keyword.value in ('ddof', 'correction') for arg in args):
            if self.text(node.func).startswith('np.') or isinstance(node.func, cst.Attribute):
                self.add('keyword', node, node.with_changes(args=[*args, *cst.parse_expression('f(ddof=1)').args]))
        return super().visit_Call(node)


def _without(call, i):
    """The call without its argument of this number."""
    left = [arg.with_changes(comma=cst.MaybeSentinel.DEFAULT) for n, arg in enumerate(call.args) if n != i]
    return call.with_changes(args=left)


# ---- what the solution hangs on ----

def solution(exercise):
    """(statements, tests) of the official solution: all that its last `assert grade` may need, and those asserts.

    The answer of each is bound to a name, so that it is mutated as well.
    """
    lines = [line for code in exercise.solved for line in code.tree.body]
    official = [n for n, line in enumerate(lines) if isinstance(line, ast.Assert) and lint.called(line.test) == 'grade']
    kept, tests = [], []
    for n, line in enumerate(lines[:official[-1] + 1] if official else []):
        if n in official:
            name = f'answer_{len(tests)}'
            kept.append(ast.parse(f'{name} = {ast.unparse(line.test.args[0])}').body[0])
            call = ast.Call(line.test.func, [ast.Name(name, ast.Load()), *line.test.args[1:]], line.test.keywords)
            tests.append(ast.unparse(ast.fix_missing_locations(ast.Expression(call))))
        elif not isinstance(line, (ast.Assert, ast.Expr, ast.For, ast.With)):
            kept.append(line)
    return kept, tests


def official_code(exercise):
    """(code, spared, tests): the official solution, the names in it that its answers do not hang on, and its tests."""
    lines, tests = solution(exercise)
    needed = {f'answer_{n}' for n in range(len(tests))}
    bound = {name: line for line in lines for name in lint.bound_by(line)}
    todo = list(needed)
    while todo:
        more = lint.read(bound[name]) & bound.keys() - needed if (name := todo.pop()) in bound else set()
        needed |= more
        todo += more
    return '\n'.join(map(ast.unparse, lines)), frozenset(bound.keys() - needed), tests


def mutants(code, spared):
    """All mutants of an official solution, none twice."""
    found = {}
    for edit in mutations.possible(code, 0, spared, Slips):
        if edit.args[2] not in (*mutations.CHECKS, 'figure') and (fault := edit()):
            try:
                same = ast.dump(ast.parse(fault.code)) == ast.dump(ast.parse(code))
            except SyntaxError:
                continue
            if not same:
                found.setdefault(fault.code, fault)
    return list(found.values())


def needed(section, exercise):
    """The numbers of those statements of a notebook before the solution that an exercise hangs on."""
    own = [n for n, code in enumerate(section.cell_of) if code in (*exercise.asked, *exercise.solved)]
    end = min(n for n in own if section.cell_of[n] in exercise.solved)
    names = set().union(*(section.names[n].reads | section.names[n].reads_later for n in own))
    found = {n for n in own if n < end}
    while True:
        more = {n for n in range(end) if n not in found and (section.names[n].binds | section.names[n].changes) & names}
        if not more:
            return sorted(found)
        found |= more
        names = names.union(*(section.names[n].reads | section.names[n].reads_later for n in more))


# ---- trying them ----

class Verdict(NamedTuple):
    """What became of the mutants of an exercise: those that survived, how many there were, and why it could not be tried."""
    survivors: list
    number: int
    broken: str = ''


class Late(BaseException):
    """A mutant took too long."""


def _late(*_):
    raise Late


def attempt(exercise, names):
    """The `Verdict` on an exercise in whose namespace its grader's cells have run."""
    code, spared, tests = official_code(exercise)
    if not tests:
        return Verdict([], 0, 'no line begins with assert grade(')

    def passes(text):
        space = dict(names)
        exec(compile(text, '<solution>', 'exec'), space)
        return [eval(test, space) for test in tests]

    passes(code)  # draws the cases
    start = time.process_time()
    if wrong := [verdict for verdict in passes(code) if not verdict]:
        return Verdict([], 0, f'the official solution is refused: {wrong[0]}')
    limit, survivors, tried = SPARE + 20 * (time.process_time() - start), [], mutants(code, spared)
    signal.signal(signal.SIGPROF, _late)
    for fault in tried:
        signal.setitimer(signal.ITIMER_PROF, limit)
        try:
            survived = all(passes(fault.code))
        except (Exception, Late):
            survived = False
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        if survived:
            survivors.append(fault)
    return Verdict(survivors, len(tried))


def section(path, labels):
    """{label: Verdict} of exercises of a section. To be called in a process of its own."""
    os.chdir(path.parent)
    sys.stdout = sys.stderr = open(os.devnull, 'w')
    whole = sections.Section(path)
    names, done, found = {'__name__': '__main__'}, set(), {}
    for exercise in whole.graded:
        if exercise.label not in labels:
            continue
        try:
            for n in needed(whole, exercise):
                if n not in done:
                    done.add(n)
                    exec(compile(ast.Module([whole.code[n]], []), path.name, 'exec'), names)
            found[exercise.label] = attempt(exercise, names)
        except Exception as error:
            found[exercise.label] = Verdict([], 0, f'{type(error).__name__}: {error}')
    return found


# ---- the record, and what is said ----

def record_of(path):
    """Where it stands what was found about the exercises of a section."""
    return RECORDS / path.parent.name / f'{path.stem}.yml'


def recorded(path):
    """{label: {'cells': digest, 'mutants': number, 'equivalent': [...]}} of a section, as it was last found."""
    file = record_of(path)
    return (yaml.safe_load(file.read_text('utf-8')) if file.is_file() else None) or {}


def of_section(path):
    """{label: exercise} of the exercises of a section whose graders draw their cases."""
    return {exercise.label: exercise for exercise in sections.Section(path).graded if exercise.drawn}


def changed(path):
    """The labels of the exercises whose cells are not those that were last tried."""
    known = recorded(path)
    return [label for label, exercise in of_section(path).items() if known.get(label, {}).get('cells') != exercise.digest]


def judged(verdict, known):
    """(survivors that are not listed as equivalent, entries listed that did not survive) of an exercise."""
    listed = {(entry['was'].strip(), entry['now'].strip()) for entry in known.get('equivalent', ())}
    alive = {(fault.was, fault.now) for fault in verdict.survivors}
    return [fault for fault in verdict.survivors if (fault.was, fault.now) not in listed], sorted(listed - alive)


def write(path, known):
    """Store the record of a section."""
    file = record_of(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    notebooks.replace(file, _yaml(known))


def _yaml(content):
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=110)


def report(files, everything):
    """Try exercises, print what survives and store what was found; gives the exit status."""
    killed, tried, good = 0, 0, True
    wanted = {path: labels for path in files if (labels := list(of_section(path)) if everything else changed(path))}
    for path, result in faults.spread(lambda path: section(path, wanted[path]), wanted, os.cpu_count() or 1, SECONDS * 4):
        if isinstance(result, str):
            print(f'{notebooks.name(path)}: BROKEN: its process died ({result})', flush=True)
            good = False
            continue
        known, there = recorded(path), of_section(path)
        for label, verdict in result.items():
            alive, stale = judged(verdict, known.get(label, {}))
            number = verdict.number - len(verdict.survivors) + len(alive)  # of those that are not equivalent
            tell(f'{notebooks.name(path)} {label}', verdict, number, alive, stale)
            tried, killed = tried + number, killed + number - len(alive)
            if verdict.broken or alive or stale:
                good = False
            else:
                listed = {'equivalent': listed} if (listed := known.get(label, {}).get('equivalent')) else {}
                known[label] = {'cells': there[label].digest, 'mutants': verdict.number, **listed}
        if known or record_of(path).is_file():
            write(path, {label: known[label] for label in there if label in known})
    if tried:
        print(f'{killed / tried:.1%} of {tried} mutants killed that are not equivalent (goal: {GOAL:.1%})')
    return int(not good)


def tell(name, verdict, number, alive, stale):
    """Print what became of the mutants of an exercise, of which `number` are not equivalent."""
    counts = f'{number - len(alive)} of {number} mutants killed, {len(verdict.survivors) - len(alive)} equivalent'
    print(f'{name}: {f"BROKEN: {verdict.broken}" if verdict.broken else counts}', flush=True)
    for fault in alive:
        print(_yaml([{'was': fault.was, 'now': fault.now, 'why': ''}]), end='')
    for was, now in stale:
        print(f'  listed as equivalent, but it does not survive: {was}  ->  {now}')


def main(argv=None):
    parser = argparse.ArgumentParser(description='Mutate official solutions, and see whether the graders notice.')
    parser.add_argument('files', nargs='*', help='.py files of sections; all their exercises are tried')
    parser.add_argument('--all', action='store_true', help='all exercises of the book')
    arguments = parser.parse_args(argv)
    environment.restart('nbutils.maintain.graders', argv)
    files = [Path(file).resolve().with_suffix('.py') for file in arguments.files]
    sys.exit(report(files or notebooks.sources(), arguments.all or bool(files)))


if __name__ == '__main__':
    main()
