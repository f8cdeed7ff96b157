r"""Formulas of the ledger, cut where a line may break.

A formula such as `\text{the squared loss of } w \text{ is convex}` would be one unbreakable box in the browser. Its
words become words, the rest stays mathematics, and the line can break between them.
"""
import re

from docutils import nodes

_TOKEN = re.compile(
    r'\\(?:begin|end)\{\w+\*?\}|\\(?:text|texttt|mbox)\{|\\[a-zA-Z]+|\\.|[{}]|[^\\{}]+', re.S,
)
_COMMANDS = {'text': 'text', 'code': 'texttt'}
_OPENS = re.compile(r'\\begin|\\left$|\{$')
_CLOSES = re.compile(r'\\end|\\right$|\}$')
_WIDE = '\N{EM SPACE} '  # the line may break after it
_STOP = re.compile(r'\s*([,.;])(?:\s|\\[,;: ])*')
_RELATION = r'(?:[=<>+]|\\(?:[lg]e|ne|approx|sim|to|in|iff|Rightarrow|Leftrightarrow|propto)\b)'
_RELATION_FIRST = re.compile(_RELATION)
_RELATION_LAST = re.compile(_RELATION + r'\s*$')
_MARKED = re.compile(r'(\$[^$]+\$|`[^`]+`)')  # in prose
_LONG = 40  # letters of LaTeX; a longer formula may break before relations and after commas
_LINE = 150  # a longer one, displayed, is set in lines
_CUT = re.compile(r':?=|[<>]|\\(?:[lg]eq?|in|approx|iff|implies|x?(?:[lL]ong)?[rR]ightarrow)(?![a-zA-Z])')
_STEP = re.compile(r':=|\\[a-zA-Z]+(?:\[[^]]*\](?=\{))?|\\.|.', re.S)
_ESCAPED = re.compile(r'\\([%&#_$ ])')


def pieces(latex: str) -> list[tuple[str, str]]:
    """Cut LaTeX into ('math', formula), ('text', words), ('code', words) and ('space', ' ').

    It is cut where neither group nor environment is open: at \\text{...}, at \\texttt{...}, and at wide spaces.
    """
    cut, run, depth = [], '', 0
    for kind, token in _tokens(latex):
        outside = depth == 0 and not run.rstrip().endswith(('^', '_'))
        if kind != 'tex' and outside:
            cut += [('math', run), (kind, token)]
            run = ''
        elif outside and token in ('\\quad', '\\qquad', '\\ '):
            cut += [('math', run), ('space', ' ' if token == '\\ ' else _WIDE)]
            run = ''
        else:
            depth += bool(_OPENS.match(token)) - bool(_CLOSES.match(token)) if kind == 'tex' else 0
            run += token if kind == 'tex' else f'\\{_COMMANDS[kind]}{{{token}}}'
    cut.append(('math', run))
    tidy = ((kind, value.strip() if kind == 'math' else value) for kind, value in cut)
    return [(kind, value) for kind, value in tidy if kind == 'space' or value.strip()]


def inline(latex: str) -> list[nodes.Node]:
    """The formula as inline nodes that may break across lines."""
    made, before = [], None
    for kind, value in pieces(latex):
        stop = _STOP.match(value) if (before, kind) == ('text', 'math') else None
        if stop:  # a line must not begin with a comma
            made.append(nodes.Text(f'{stop[1]} '))
            value = value[stop.end():]
            if not value:
                continue
        if _touch(made, kind, value):
            made.append(nodes.Text('\N{NO-BREAK SPACE}'))
        before = kind
        if kind == 'math':
            for number, part in enumerate(parts(value) if len(value) > _LONG else filter(None, [value])):
                made += [nodes.Text(' ')] * bool(number) + [nodes.math(part, part)]
        elif kind == 'text':
            made += _words(value)
        elif kind == 'code':
            made.append(nodes.literal('', _ESCAPED.sub(r'\1', value)))
        else:
            made.append(nodes.Text(value))
    return made


def _touch(made, kind, value):
    """Whether a relation would stand without space beside a word: TeX would set one, a line of text does not."""
    last = made[-1] if made else nodes.Text(' ')
    if kind == 'math' and isinstance(last, nodes.Text):
        return not last[-1:].isspace() and bool(_RELATION_FIRST.match(value))
    if kind == 'text' and isinstance(last, nodes.math):
        return not value[:1].isspace() and bool(_RELATION_LAST.search(last.astext()))
    return False


def parts(latex: str) -> list[str]:
    """Cut a formula before its relations and after its commas, those in brackets left out."""
    cut, depth, environment = [''], 0, 0
    for step in _STEP.findall(latex):
        environment += {'\\begin': 1, '\\end': -1, '\\left': 1, '\\right': -1}.get(step, 0)
        depth += (step in ('{', '(', '[')) - (step in ('}', ')', ']'))
        if depth or environment:
            cut[-1] += step
        elif _CUT.fullmatch(step) and cut[-1].strip():
            cut.append(step)
        elif step == ',':
            cut[-1] += step
            cut.append('')
        else:
            cut[-1] += step
    return [part for part in (part.strip() for part in cut) if part not in ('', '\\;', '\\,')]


def in_lines(latex: str) -> str:
    """A long chain of relations as one `aligned`, a link on each line; any other formula as it is."""
    first, *rest = parts(latex)
    if len(latex) < _LINE or len(rest) < 2 or not all(re.match(r'=|\\[lg]e(?![a-z])|\\approx', part) for part in rest):
        return latex
    return '\\begin{aligned}\n' + first + ' &' + ' \\\\\n&'.join(rest) + '\n\\end{aligned}'


def has_words(latex: str) -> bool:
    """Whether words stand beside the mathematics, so that it reads as a sentence rather than as a formula."""
    return any(kind in ('text', 'code') for kind, _ in pieces(latex))


def displayed(latex: str) -> nodes.Element:
    """The formula on its own line; one with words in it as a paragraph that may break."""
    if has_words(latex):
        return nodes.paragraph('', '', *inline(latex), classes=['displayed'])
    latex = in_lines(latex)
    return nodes.math_block(latex, latex, nowrap=False, number=None, label=None)


def prose(text: str) -> list[nodes.Node]:
    """Sentences as inline nodes: formulas stand between dollars, code between backticks."""
    made = []
    for part in _MARKED.split(text):
        if part[:1] == part[-1:] == '$':
            made.append(nodes.math(part[1:-1], part[1:-1]))
        elif part[:1] == part[-1:] == '`':
            made.append(nodes.literal('', part[1:-1]))
        elif part:
            made.append(nodes.Text(part))
    return made


def _words(text):
    """The words of a \\text{...}, in which $...$ is mathematics again."""
    for number, part in enumerate(re.split(r'(?<!\\)\$', text)):
        if part and number % 2:
            yield nodes.math(part, part)
        elif part:
            yield nodes.Text(_ESCAPED.sub(r'\1', part).replace('~', '\N{NO-BREAK SPACE}'))


def _tokens(latex):
    """Tokens as ('tex', token); a \\text{...} or \\texttt{...} without commands inside as ('text' or 'code', words)."""
    place = 0
    while place < len(latex):
        token = _TOKEN.match(latex, place).group()
        end = latex.find('}', place)
        content = latex[place + len(token):end]
        if token in ('\\text{', '\\texttt{', '\\mbox{') and end > 0 and _is_plain(content):
            yield 'code' if token == '\\texttt{' else 'text', content
            place = end + 1
        else:
            yield 'tex', token
            place += len(token)


def _is_plain(content):
    outside = ''.join(re.split(r'(?<!\\)\$', content)[::2])
    return '{' not in content and '\\' not in _ESCAPED.sub('', outside)
