"""Tokens into a tree, by recursive descent. A display is cut into statements, conditions and ranges of counters.

Juxtaposition binds tighter than `\\cdot`, `\\times` and `\\odot`. A sum or a product takes the term after it, an
expectation the product after it, an extremum the factors up to the last one that its letters stand in. A function
without brackets takes the factors up to the next blank, function or sign. Whether `f(x)` is a value of f or a product
depends on the names that are known to be functions. A word that is no connective (`and`, `for all`, `if` ...) is an
error: nothing that is printed is passed over. Words that are known to be functions are predicates: `f \\text{ is
convex}` says `is_convex(f)`, and what stands behind the words is their second argument.
"""
import re
from functools import wraps
from typing import NamedTuple

from nbutils.printed.tokens import FormulaError, Token, tokens

RELATIONS = {
    '=': '=', ':=': '=', 'le': '<=', 'leq': '<=', 'ge': '>=', 'geq': '>=', '<': '<', '>': '>', 'ne': '!=', 'neq': '!=',
    'approx': '~', 'simeq': '~', 'propto': 'propto', 'in': 'in', 'notin': 'notin', 'sim': 'sim', 'leftarrow': '<-',
    'succeq': 'psd', 'succ': 'pd', 'preceq': 'nsd', 'prec': 'nd', 'to': 'to', 'longrightarrow': 'to', 'mapsto': 'mapsto',
    'll': '<<', 'subset': 'subset', 'subseteq': 'subset', 'longleftrightarrow': 'to', 'perp': 'perp',
}
ARROWS = {
    'iff': 'iff', 'Longleftrightarrow': 'iff', 'Leftrightarrow': 'iff',
    'implies': 'implies', 'Longrightarrow': 'implies', 'Rightarrow': 'implies',
}
JOINERS = ('cdot', 'times', 'odot', 'otimes', 'circ', '*', '/', 'cup', 'cap', 'setminus')
BIG = ('sum', 'prod', 'int', 'iint', 'bigcap', 'bigcup')
EXTREMA = {'max', 'min', 'sup', 'inf', 'argmax', 'argmin', 'lim'}
PREFIX = {
    'exp', 'log', 'ln', 'sin', 'cos', 'tan', 'tanh', 'cosh', 'sinh', 'arctan', 'arccos', 'arcsin', 'det', 'tr', 'rank',
    'vec', 'diag', 'sign', 'sgn', 'Var', 'Cov', 'Pr', 'Expect', 'Indicator', 'Im', 'Re', 'dim',
}
IN_NAMES = {'-': '_minus_', "'": '_prime', '*': '_star', '^': ''}  # how signs of a subscript stand in the names of meanings
OF_MATRICES = {'det', 'tr', 'rank'}
GUARD = re.compile(r'^\W*(for all|for every|for each|for any|for|if|when|where|with|since|whenever)\W*$')
MORE_GIVEN = re.compile(r'^\W*and (for )?(all|every|each|any)\W*$')
CONNECTIVE = re.compile(r'^\W*(and|so that|hence|thus|then|that is|so|i\.e\.|therefore|also|but)?\W*$')
CASE_WORD = re.compile(r'^\W*(if|for|when|otherwise|else)?\W*$')
FRACTIONS = ('frac', 'tfrac', 'dfrac')
DOTS = ('dots', 'ldots', 'cdots', 'vdots', 'ddots')
STATEMENTS = ('relation', 'predicate', 'both', 'iff', 'implies')
OPEN, CLOSE = ('(', '[', '{', 'langle', 'lfloor', 'lceil'), (')', ']', '}', 'rangle', 'rfloor', 'rceil')
CLOSED_BY = {
    '(': (')', ']'), '[': (']', ')', '['), '{': ('}',), 'langle': ('rangle',), 'lfloor': ('rfloor',), 'lceil': ('rceil',),
}
BEGINS_FACTOR = {
    *BIG, *FRACTIONS, *DOTS, 'sqrt', 'nabla', 'partial', 'underbrace', 'binom', 'infty', '{', 'langle', 'lfloor', 'lceil',
    'emptyset', 'mathbf',
}


class _Node(NamedTuple):
    op: str
    args: tuple
    start: int = 0
    end: int = 0


class Node(_Node):
    """A part of a formula: what it is, what it is made of, and where it stands in the LaTeX."""


def kept(function):
    """A function of a node alone, whose result is kept with it: a formula is read once and run in many cases."""
    name = f'{function.__module__}.{function.__name__}'

    @wraps(function)
    def once(node):
        if name not in node.__dict__:
            node.__dict__[name] = function(node)
        return node.__dict__[name]
    return once


class Part(NamedTuple):
    """One statement of a display: a claim, a condition ('given') or the range of a counter ('range')."""
    role: str
    node: Node
    latex: str


def parse(latex: str, functions: frozenset[str] = frozenset()) -> list[Part]:
    """The parts of a displayed formula. `functions` are the names that are applied where a bracket follows.

    Raises FormulaError for words and signs that cannot be read.
    """
    parts, ends = [], []
    for role, piece, end in _Pieces(_rows_joined(tokens(latex)), functions).cut():
        found = _parts(role, piece, latex, functions)
        parts, ends = parts + found, ends + [end] * len(found)
    return _together(parts, ends)


@kept
def children(node):
    """All nodes directly below a node, and all signs (tokens) between them left out."""
    found, todo = [], list(node.args)
    while todo:
        item = todo.pop(0)
        if isinstance(item, Node):
            found.append(item)
        elif isinstance(item, tuple) and not isinstance(item, Token):
            todo = [*item, *todo]
    return tuple(found)


@kept
def _below(node):
    return tuple(n for child in children(node) for n in walk(child))


def walk(node):
    """The node and all nodes below it."""
    return node, *_below(node)


@kept
def letters(node):
    """The names of all letters that stand in a tree."""
    return frozenset(n.args[0] for n in walk(node) if n.op == 'name')


@kept
def form(node):
    """The tree as a text, without its places in the LaTeX: equal for two parts of formulas that are read alike."""
    return f'{node.op}({", ".join(map(_form_of, node.args))})'


def _form_of(item):
    if isinstance(item, Node):
        return form(item)
    if isinstance(item, Token):
        return item.text
    return f'({", ".join(map(_form_of, item))})' if isinstance(item, tuple) else repr(item)


def _parts(role, piece, latex, functions):
    text = latex[piece[0].start:piece[-1].end]
    if (ends := _range(text)) is not None:
        name, *ends = ends
        low, high = (_Parser(tokens(end), end, functions).whole() for end in ends)
        return [Part('range', Node('range', (name, low, high)), text)]
    node = _Parser(piece, latex, functions).whole()
    if node.op == 'bracket' and node.args[0] == '(' and all(item.op == 'relation' for item in node.args[2]):
        return [Part('given', item, text) for item in node.args[2]]  # (k < j) says: for all k < j
    return [Part(role, node, text)]


def _range(text):
    """(counter, first, last) of k = 1, ..., K or (k = 1, 2, 3); None for anything else."""
    listed = re.fullmatch(r'\(?\s*([a-zA-Z]) = ([^,]+),\s*(?:[^,]+,\s*)?\\(?:ldots|dots)\s*,\s*([^,]+?)\s*\)?', text)
    if listed:
        return listed.groups()
    listed = re.fullmatch(r'\(\s*([a-zA-Z]) = (\d+(?:,\s*\d+)+)\s*\)', text)
    members = [int(member) for member in listed[2].split(',')] if listed else [0]
    if not listed or members != list(range(members[0], members[-1] + 1)):
        return None
    return listed[1], str(members[0]), str(members[-1])


def _together(parts, ends):
    """Puts together what is one statement: `x, y \\in C` says it of both, `A \\text{ and } B \\implies C` supposes both."""
    found = []
    for part, end in reversed(list(zip(parts, ends, strict=True))):
        after = found[0] if found and found[0].role == part.role else None
        node = part.node
        if after is not None and end == ',':
            node = _said_of(node, after.node) or node
        supposed = node is not part.node or end == 'and' and node.op in STATEMENTS
        if after is not None and after.node.op in ARROWS.values() and supposed:
            first, *rest = after.node.args
            both = Node('both', (node, first), node.start, first.end)
            found[0] = after._replace(node=after.node._replace(args=(both, *rest)))
        else:
            found.insert(0, part._replace(node=node))
    return found


def _said_of(subject, statement):
    """What `x, y \\in C` and `f, g \\text{ are convex}` say of the letter before the comma; None for anything else."""
    while statement.op in ('both', *ARROWS.values()):
        statement = statement.args[0]
    shared = statement.op == 'predicate' or statement.op == 'relation' and statement.args[1].text in ('in', 'sim')
    if not shared or len(statement.args) > 3 or not {subject.op, statement.args[0].op} <= {'name', 'scripted'}:
        return None
    return Node(statement.op, (subject, *statement.args[1:]), subject.start, subject.end)


def _rows_joined(pieces):
    """Opens aligned and gathered: their rows continue one statement or begin another one."""
    found = []
    for token in pieces:
        if token.kind == 'environment' and token.text in ('aligned', 'gathered', 'split', 'alignedat'):
            found += _rows_joined(token.args[0])
        elif not token.is_('&'):
            found.append(token)
    return [t for t in found if not (t.kind == 'group' and not t.args[0])]


def _continues(token):
    """Whether a statement goes on with (or ends before) this token."""
    return token is not None and (
        token.kind == 'sign' and token.text in ('=', '<', '>', '+', '-')
        or token.kind == 'macro' and (token.text in RELATIONS or token.text in ARROWS or token.text in JOINERS)
    )


class _Pieces:
    """Cuts the tokens of a display at row ends, wide blanks, commas and connectives."""

    def __init__(self, pieces, functions):
        self.tokens, self.functions, self.out, self.now, self.role = pieces, functions, [], [], 'claim'

    def cut(self):
        """(role, tokens, what ended it: a comma, `and`, or anything else) for each piece."""
        depth = 0
        for k, token in enumerate(self.tokens):
            depth += token.is_(*OPEN) - token.is_(*CLOSE)
            after = next((t for t in self.tokens[k + 1:] if t.kind not in ('blank', 'wide')), None)
            if token.is_('forall'):
                self.close('given')
            elif token.is_('exists'):
                raise FormulaError('"there is" cannot be run')
            elif depth > 0:
                if not token.is_('\\'):  # a long bracket may run over rows
                    self.now.append(token)
            elif token.kind == 'text':
                self.word(token, after)
            elif token.kind == 'wide' or token.is_('\\'):
                self.gap(after)
            elif token.is_(',', ';') and not self.in_list(k):
                self.close('given' if self.role == 'given' else 'claim', token.text)
            else:
                self.now.append(token)
        self.close('claim')
        return self.out

    def close(self, next_role, end=''):
        piece = self.now
        while piece and (piece[-1].kind == 'blank' or piece[-1].is_('.', ',', ';', ':')):
            piece = piece[:-1]
        while piece and piece[0].kind == 'blank':
            piece = piece[1:]
        if piece:
            self.out.append((self.role, piece, end))
        self.now, self.role = [], next_role

    def word(self, token, after):
        words = re.sub(r'\W+', '_', token.text).strip('_')
        if GUARD.match(token.text) or self.role == 'given' and MORE_GIVEN.match(token.text):
            self.close('given')
        elif CONNECTIVE.match(token.text):
            self.close('claim', token.text.strip())
        elif not self.now and _continues(after) or _continues(self.last()):
            self.now.append(Token('name', words, token.start, token.end))  # a word as a name: precision = ...
        elif words in self.functions:
            self.now.append(token._replace(kind='predicate', text=words))
        else:
            raise FormulaError(f'words that cannot be run: {token.text.strip()!r}')

    def gap(self, after):
        last = self.last()
        if last is not None and not _continues(last) and not _continues(after):
            self.close('claim')

    def last(self):
        return next((t for t in reversed(self.now) if t.kind not in ('blank', 'wide')), None)

    def in_list(self, k):
        """Whether the comma at k belongs to a list with dots: x_1, \\dots, x_n."""
        return any(t.kind == 'macro' and t.text in DOTS for t in self.tokens[max(0, k - 8):k + 8])


class _Parser:
    def __init__(self, pieces, latex, functions):
        self.tokens = [t for t in pieces if t.kind != 'wide']
        self.latex, self.functions, self.k = latex, functions, 0
        self.bars, self.conditional = [], False  # bars that are open; whether | may mean "given that"

    # the stream of tokens

    def peek(self, *, blanks=False):
        k = self.k
        while not blanks and k < len(self.tokens) and self.tokens[k].kind == 'blank':
            k += 1
        return self.tokens[k] if k < len(self.tokens) else None

    def next(self):
        while self.tokens[self.k].kind == 'blank':
            self.k += 1
        self.k += 1
        return self.tokens[self.k - 1]

    def at(self, *texts):
        token = self.peek()
        return token is not None and token.is_(*texts)

    def fail(self, what):
        token = self.peek()
        here = self.latex[token.start:token.start + 25] if token else 'the end'
        raise FormulaError(f'{what} at {here!r}')

    def expect(self, *texts):
        if not self.at(*texts):
            self.fail(f'expected {" or ".join(texts)}')
        return self.next()

    def inner(self, pieces):
        return _Parser(pieces, self.latex, self.functions)

    # statements

    def whole(self):
        node = self.statement()
        if self.peek():
            self.fail('left over')
        return node

    def statement(self):
        left = self.relation()
        while self.at(*ARROWS):
            arrow = self.next()
            right = self.relation()
            left = Node(ARROWS[arrow.text], (left, right, arrow), left.start, right.end)
        return left

    def relation(self):
        parts = [self.expression()]
        while self.at(*RELATIONS):
            sign = self.next()
            parts += [sign, self.expression()]
        if len(parts) == 1 and self.peek() and self.peek().kind == 'predicate':
            return self.predicate(parts[0])
        return parts[0] if len(parts) == 1 else Node('relation', tuple(parts), parts[0].start, parts[-1].end)

    def predicate(self, subject):
        words = self.next()
        second = (self.expression(),) if self.starts_factor() else ()
        return Node('predicate', (subject, words, *second), subject.start, (*second, words)[0].end)

    def expression(self):
        sign = self.next() if self.at('+', '-', 'pm') else None
        items = [(sign.text if sign else '+', self.term(), sign)]
        while self.at('+', '-', 'pm'):
            sign = self.next()
            items.append((sign.text, self.term(), sign))
        first_sign, first, token = items[0]
        if len(items) == 1 and token is None:
            return first
        return Node('add', tuple(items), token.start if token else first.start, items[-1][1].end)

    def term(self):
        left = self.juxtaposed()
        while self.at(*JOINERS):
            joiner = self.next()
            right = self.juxtaposed()
            left = Node('join', (joiner.text, left, right, joiner), left.start, right.end)
        return left

    def juxtaposed(self):
        factors = [self.factor()]
        while self.starts_factor():
            factors.append(self.factor())
        return _product(factors)

    def starts_factor(self):
        token = self.peek()
        if token is None or token.kind in ('text', 'predicate'):
            return False
        if token.kind in ('name', 'number', 'group', 'environment'):
            return True
        if token.kind == 'sign':
            return not self.closes('|') if token.text == '|' else token.text in ('(', '[')
        if token.text == '|':  # the macro \|
            return not (self.closes('||') or self.conditional and '||' not in self.bars and self.odd_bars('macro'))
        return token.text in BEGINS_FACTOR

    def closes(self, bar):
        """Whether the bar ahead ends something: an open pair, or what stands before 'given that'."""
        return bar in self.bars or self.conditional and bar == '|' and self.odd_bars('sign')

    def odd_bars(self, kind):
        """Whether an odd number of bars stands before the bracket ends, so that the one ahead has no partner."""
        depth = count = 0
        for token in self.tokens[self.k:]:
            depth += token.is_(*OPEN) - token.is_(*CLOSE)
            if depth < 0:
                break
            count += token.kind == kind and token.text == '|'
        return count % 2 == 1

    # factors

    def factor(self):
        return self.scripts(self.atom())

    def atom(self):
        token = self.peek()
        if token is None:
            self.fail('a value is missing')
        if token.kind == 'number':
            self.next()
            if self.at('°'):
                return Node('degrees', (float(token.text),), token.start, self.next().end)
            return Node('number', (float(token.text) if '.' in token.text else int(token.text),), token.start, token.end)
        if token.kind == 'name':
            return self.name()
        if token.kind == 'group':
            self.next()
            return Node('group', (self.inner(token.args[0]).whole(),), token.start, token.end)
        if token.kind == 'environment':
            return self.environment()
        if token.kind == 'sign':
            return self.sign(token)
        return self.macro(token)

    def sign(self, token):
        if token.text in ('(', '['):
            return self.composed(self.bracket())
        if token.text == '|':
            return self.within('|', 'bars')
        if token.text in ('*', ':'):
            self.next()
            return Node('sign', (token.text,), token.start, token.end)
        self.fail('a value is missing')

    def macro(self, token):
        name = token.text
        if name in ('{', 'langle', 'lfloor', 'lceil'):
            return self.bracket()
        if name in FRACTIONS:
            return self.fraction()
        if name in ('nabla', 'partial'):
            return self.derivative()
        if name == '|':
            return self.within('||', 'norm')
        self.next()
        here = token.start, token.end
        if name == 'sqrt':
            degree, body = ([None, *(self.inner(a).whole() for a in token.args)])[-2:]
            return Node('sqrt', (body, degree), *here)
        if name == 'binom':
            return Node('binom', tuple(self.inner(a).whole() for a in token.args), *here)
        if name in BIG:
            return self.big(name, token)
        if name == 'underbrace':
            return self.braced(token)
        if name in DOTS:
            return Node('dots', (), *here)
        if name == 'infty':
            return Node('name', ('infty', False), *here)
        if name == 'mathbf':  # around several signs: one name
            return Node('name', (re.sub(r'\W+', '_', self.latex[slice(*here)]).strip('_'), False), *here)
        if name == 'emptyset':
            return Node('bracket', ('{', '}', ()), *here)
        self.k -= 1
        self.fail('no meaning is known for what stands')

    def braced(self, token):
        """What stands above a brace. Words below it are a remark on it; a formula there would be a statement of its
        own."""
        inner = self.inner(token.args[0]).whole()
        while self.peek(blanks=True) and self.peek(blanks=True).is_('_'):
            self.next()
            label = self.script()
            if any(t.kind not in ('text', 'blank') for t in label):
                raise FormulaError('a formula below a brace: print it as a statement')
        return Node('group', (inner,), token.start, token.end)

    def within(self, bar, op):
        opening = self.next()
        self.bars.append(bar)
        inner = self.expression()
        self.bars.pop()
        return Node(op, (inner,), opening.start, self.expect('|').end)

    def bracket(self, conditional=False):
        opening = self.next()
        outside = self.bars, self.conditional
        self.bars, self.conditional = [], conditional or opening.text in ('[', '{')
        items = []
        if not self.at(*CLOSED_BY[opening.text]):
            items.append(self.item())
            given = False
            while self.at(',', ';', 'mid', '|', ':'):
                given = given or self.at('mid', '|')
                self.next()
                item = self.item()
                items.append(Node('given', (item,), item.start, item.end) if given else item)
        closing = self.expect(*CLOSED_BY[opening.text])
        self.bars, self.conditional = outside
        return Node('bracket', (opening.text, closing.text, tuple(items)), opening.start, closing.end)

    def item(self):
        """A statement between commas, or the colon of a whole row or column."""
        token = self.peek()
        if self.at(':'):
            self.next()
            return Node('sign', (':',), token.start, token.start)
        return self.statement()

    def name(self):
        token = self.next()
        name = token.text
        if name == 'arg' and self.peek() and self.peek().text in ('max', 'min'):
            second = self.next()
            name, token = f'arg{second.text}', token._replace(end=second.end)
        node = Node('name', (name, token.bold), token.start, token.end)
        if name in EXTREMA:
            return self.applied(node) if self.at('(') else self.big(name, token)
        if name not in PREFIX and name not in self.functions:
            return node
        head = self.scripts(node)
        if self.at('(', '['):
            return self.applied(head)
        word = self.latex[token.start:].startswith(('\\operatorname', '\\mathrm', '\\text'))
        return self.prefixed(head) if (name in PREFIX or word) and self.starts_factor() else head

    def applied(self, head):
        arguments = self.bracket(conditional=True)
        items = arguments.args[2]
        if head.op == 'name' and head.args[0] in OF_MATRICES and arguments.args[0] == '[' and len(items) > 1:
            items = (arguments,)  # rank [A | b]
        return Node('call', (head, items), head.start, arguments.end)

    def composed(self, bracket):
        """[f \\circ g](x): the bracket is a function."""
        items = bracket.args[2]
        if len(items) == 1 and items[0].op == 'join' and items[0].args[0] in ('circ', '*') and self.at('('):
            return self.applied(bracket)
        return bracket

    def prefixed(self, head):
        """A function without brackets: log 2 pi, tr A B, cos theta."""
        name = (head if head.op == 'name' else head.args[0]).args[0]
        if name == 'Expect':
            argument = self.juxtaposed()
            return Node('call', (head, (argument,)), head.start, argument.end)
        factors = [self.factor()]
        while self.starts_factor() and self.peek(blanks=True).kind != 'blank' and not self.ends_argument(factors[-1]):
            factors.append(self.factor())
        argument = _product(factors)
        return Node('call', (head, (argument,)), head.start, argument.end)

    def ends_argument(self, factor):
        token = self.peek()
        function = token.kind == 'name' and (token.text in PREFIX | EXTREMA or token.text in self.functions)
        return token.kind == 'sign' or function or factor.op in ('bars', 'norm', 'call', 'big')

    # sums, products, extrema, limits, integrals

    def big(self, kind, token):
        scripts = {'_': None, '^': None}
        while self.at('_', '^'):
            where = self.next().text
            scripts[where] = self.script()
        low, high = scripts['_'], scripts['^']
        if kind in ('int', 'iint'):
            return self.integral(low, high, token)
        domain = self.domain(low, high, kind)
        if kind in ('sum', 'prod', 'lim'):
            body = self.term()
        else:
            body = self.extremal(domain)
        return Node('big', (kind, domain, body), token.start, body.end)

    def extremal(self, domain):
        """What an extremum is taken of: the product after it, and further factors that its letters stand in."""
        below = set().union(*(letters(part) for part in (domain or ('', ()))[1] if isinstance(part, Node)))
        body = self.juxtaposed()
        while self.at(*JOINERS):
            before, joiner = self.k, self.next()
            right = self.juxtaposed()
            if not below & letters(right):
                self.k = before
                break
            body = Node('join', (joiner.text, body, right, joiner), body.start, right.end)
        return body

    def domain(self, low, high, kind):
        """('range', name, low, high), ('over', names), ('where', relations), or None where nothing stands below."""
        if low is None:
            return None
        if len(low) == 1 and low[0].is_('substack'):
            low = [Token('sign', ',', t.start, t.end) if t.is_('\\') else t for t in low[0].args[0]]
        inner = self.inner(low)
        parts = [inner.statement()]
        while inner.at(','):
            inner.next()
            parts.append(inner.statement())
        if inner.peek():
            inner.fail(f'the range below the {kind}')
        if high is not None:
            return self.from_to(parts, self.inner(high).whole())
        if all(p.op in ('name', 'scripted') for p in parts):
            return ('over', tuple(parts))
        return ('where', tuple(parts))

    def from_to(self, parts, high):
        first = parts[0]
        if len(parts) == 1 and first.op == 'relation' and first.args[0].op == 'name':
            return ('range', first.args[0].args[0], first.args[2], high)
        if len(parts) == 1 and first.op == 'name':
            return ('range', first.args[0], Node('number', (1,)), high)
        self.fail('a range that cannot be read')

    def integral(self, low, high, token):
        ends = [k for k in range(self.k, len(self.tokens) - 1)
                if self.tokens[k].kind == self.tokens[k + 1].kind == 'name' and self.tokens[k].text == 'd']
        if not ends:
            self.fail('an integral without its variable')
        limits = (self.inner(low).whole(), self.inner(high).whole()) if low and high else None
        if low and not high:
            self.fail('an integral over a set')
        body = self.inner(self.tokens[self.k:ends[0]]).whole()
        self.k = ends[0] + 1
        variable = self.factor()
        return Node('big', ('int', limits, body, variable), token.start, variable.end)

    # fractions and derivatives

    def fraction(self):
        token = self.next()
        top, bottom = token.args
        order, variables = _differentials(bottom)
        upper, rest = _differentials(top, of_variables=False)
        if not (order and upper):
            return Node('frac', (self.inner(top).whole(), self.inner(bottom).whole()), token.start, token.end)
        if order != upper:
            raise FormulaError(f'a derivative of order {upper} with respect to {order} variables')
        wrt = tuple(self.inner(v).whole() for v in variables)
        if rest and rest[0]:
            return Node('derivative', (wrt, self.inner(rest[0]).whole()), token.start, token.end)
        body = self.juxtaposed()
        return Node('derivative', (wrt, body), token.start, body.end)

    def derivative(self):
        token = self.next()
        wrt, order = None, 1
        while self.at('_', '^'):
            where, script = self.next().text, self.script()
            if where == '_':
                wrt = self.inner(script).whole()
            elif script[0].kind == 'number':
                order = int(script[0].text)
            else:
                raise FormulaError('a derivative of unknown order')
        body = self.factor()
        if body.op == 'scripted' and body.args[2] is not None:  # \nabla f(x)^\top transposes the gradient, not f
            base, sub, sup, primes = body.args
            inner = base if sub is None and not primes else Node('scripted', (base, sub, None, primes), base.start, base.end)
            gradient = Node('gradient', (token.text, wrt, order, inner), token.start, base.end)
            return Node('scripted', (gradient, None, sup, 0), token.start, body.end)
        return Node('gradient', (token.text, wrt, order, body), token.start, body.end)

    # matrices and cases

    def environment(self):
        token = self.next()
        rows = [row for row in _cells(token.args[0]) if any(row)]
        if token.text == 'cases':
            return Node('cases', tuple(self.case(row) for row in rows), token.start, token.end)
        if not token.text.endswith('matrix'):
            raise FormulaError(f'the environment {token.text} is not known')
        here = token.start, token.start
        cells = tuple(tuple(self.inner(c).whole() if c else Node('empty', (), *here) for c in row) for row in rows)
        return Node('matrix', cells, token.start, token.end)

    def case(self, row):
        value = [t for t in row[0] if not t.is_(',', ';')]
        condition = [t for cell in row[1:] for t in cell if t.kind != 'wide']
        for token in condition:
            if token.kind == 'text' and not CASE_WORD.match(token.text):
                raise FormulaError(f'words in a case that cannot be run: {token.text.strip()!r}')
        condition = [t for t in condition if t.kind != 'text']
        while condition and (condition[-1].kind == 'blank' or condition[-1].is_(',', '.', ';')):
            condition.pop()
        test = self.inner(condition).whole() if any(t.kind != 'blank' for t in condition) else None
        return self.inner(value).whole(), test

    # subscripts and superscripts

    def script(self):
        if self.peek() is None:
            self.fail('an empty script')
        token = self.next()
        return token.args[0] if token.kind == 'group' else [token]

    def scripts(self, base):
        sub = sup = None
        primes = 0
        while (token := self.peek(blanks=True)) is not None and token.kind == 'sign' and token.text[0] in "_^'":
            self.next()
            if token.text[0] == "'":
                primes += len(token.text)
            elif token.text == '_':
                sub = self.subscript(token, self.script())
            else:
                sup = self.superscript(token, self.script())
        end = self.tokens[self.k - 1].end
        node = Node('scripted', (base, sub, sup, primes), base.start, end) if sub or sup or primes else base
        if self.at('!'):
            return Node('factorial', (node,), base.start, self.next().end)
        return node

    def subscript(self, token, script):
        """('sub', (literal text, nodes)): a subscript is part of a name or an index; nodes is None where it is a word."""
        key = ''.join(IN_NAMES.get(t.text, t.text) for t in script if t.kind not in ('group', 'blank'))
        inner, nodes = self.inner(script), []
        try:
            while inner.peek():
                nodes.append(inner.item())
                if inner.at(',', '|'):
                    inner.next()
                elif inner.peek():
                    inner.fail('words')
        except FormulaError:
            nodes = None
        end = self.tokens[self.k - 1].end
        return Node('sub', (re.sub(r'\W+', '_', key).strip('_'), nodes and tuple(nodes)), token.start, end)

    def superscript(self, token, script):
        """('sup', (kind, what)): a power, a transpose, a mark such as the star of w^*, or a label in brackets."""
        kind, what = 'power', None
        signs = [t.text for t in script if t.kind != 'blank']
        if signs in (['top'], ['T']):
            kind = 'transpose'
        elif signs == ['-', 'top']:
            kind = 'inverse transpose'
        elif len(script) == 1 and script[0].is_('*', '+', '-', 'prime', 'circ', 'dagger'):
            kind, what = 'mark', {'*': 'star', '+': 'plus', '-': 'minus'}.get(signs[0], signs[0])
        else:
            what = self.inner(script).whole()
            if what.op == 'bracket' and what.args[0] == '(' and what.end == script[-1].end:
                kind = 'label'
        return Node('sup', (kind, what), token.start, self.tokens[self.k - 1].end)


def _product(factors):
    """The product of factors that stand side by side; a single one is no product."""
    return factors[0] if len(factors) == 1 else Node('product', tuple(factors), factors[0].start, factors[-1].end)


def _cells(pieces):
    """The rows of an environment, each a list of cells, each a list of tokens."""
    rows = [[[]]]
    for token in pieces:
        if token.is_('\\'):
            rows.append([[]])
        elif token.is_('&'):
            rows[-1].append([])
        else:
            rows[-1][-1].append(token)
    return rows


def _differentials(pieces, of_variables=True):
    """(order, lists of tokens) of d x d y, \\partial x \\partial y or \\partial x^2; (0, None) for anything else.

    Above the line, in \\partial \\|x\\|^2, the exponent belongs to what is differentiated.
    """
    pieces = [t for t in pieces if t.kind != 'blank']
    if not pieces or not (pieces[0].is_('partial') or _is_upright_d(pieces)):
        return 0, None
    groups = []
    for token in pieces:
        if (token.kind, token.text) == (pieces[0].kind, pieces[0].text):
            groups.append([])
        else:
            groups[-1].append(token)
    order, variables = 0, []
    for group in groups:
        times = 1
        if len(group) >= 2 and group[0].is_('^') and group[1].kind == 'number':  # \partial^2 f
            times, group = int(group[1].text), group[2:]
        elif of_variables and len(group) >= 3 and group[-2].is_('^') and group[-1].kind == 'number':  # \partial x^2
            times, group = int(group[-1].text), group[:-2]
        order += times
        variables += [group] * (times if group else 1)
    return order, variables


def _is_upright_d(pieces):
    first = pieces[0]
    named = len(pieces) > 1 and pieces[1].is_('_', '+', '-')  # d_k is a letter
    return first.kind == 'name' and first.text == 'd' and not first.bold and not named
