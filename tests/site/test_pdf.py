"""The book on paper: a small book with one of each construction, as LaTeX and, where xelatex is installed, as a PDF."""
import re
import shutil

import pytest
from small_book import GOOD, TOC, code, figure, markdown, printed, write
from test_bad_builds import make

from nbutils.maintain import pdf

CONTENTS = TOC.replace('parts:\n', 'parts:\n  - caption: Start\n    chapters:\n      - file: book/notation\n') + \
    '      - file: book/bibliography\n'
INDEX = '# A book\n\nIt begins.\n\n## Cards\n\n```{section-cards}\n```\n'
NOTATION = '# Notation\n\n' + '| symbol | meaning |\n|---|---|\n' + ''.join(f'| $x_{{{n}}}$ | letter {n} |\n' for n in range(90))
BIB = '@book{vershynin2018high, author = {Vershynin, Roman}, title = {High-Dimensional Probability}, year = {2018}, publisher = {CUP}}'
TEXT = r"""See {eq}`sum-rule`, {prf:ref}`def-map`, {ref}`ex-first`, {cite:t}`vershynin2018high` and [notation](../../book/notation.md).

## The first part

````{prf:definition} Linear map
:label: def-map
A map with
```{math}
:label: sum-rule
f(\mathbf{x} + \boldsymbol\mu) = f(\mathbf{x}) + f(\boldsymbol\mu), \qquad \mathbf{x} \in \R^n .
```
````

```{prf:theorem} Zero
:label: thm-zero
$f(\mathbf{0}) = \mathbf{0}$.
```

```{prf:proof}
Put $\mathbf{x} = \boldsymbol\mu = \mathbf{0}$ into {eq}`sum-rule`.
```

```{admonition} Erratum
As printed, it reads otherwise.
```

```{exercise} ★★ The first one
:label: ex-first
Do it.
```
"""
SOLUTION = '```{solution-start} ex-first\n:class: dropdown\n```\nIt is done, by {prf:ref}`thm-zero`.'
SAID = GOOD + '✗ λ ≤ ½, Σ, ‖x‖ → ∞, x² ★ ⚠\n'


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """The LaTeX of the small book."""
    if not shutil.which('rsvg-convert'):
        pytest.skip(f'rsvg-convert not installed: {pdf.PACKAGES}')
    root = make(tmp_path_factory.mktemp('paper') / 'book')
    (root / '_toc.yml').write_text(CONTENTS)
    for name, content in {'index.md': INDEX, 'notation.md': NOTATION, 'references.bib': BIB}.items():
        (root / 'book' / name).write_text(content)
    write(
        root / 'notebooks' / 'calculus' / 'chain_rule.ipynb',
        markdown(f'# The chain rule\n\n- **Question.** Why?\n- **You need** nothing.\n\n{TEXT}'),
        code('import nothing_that_paper_shows', tags=['remove-cell']),
        code('x = 1  # ' + 70 * '=', printed(SAID)),
        code('draw_the_figure()', figure(), tags=['hide-input'], mystnb={'image': {'alt': 'Café: a blue box'}}),
        markdown(SOLUTION),
        code('solution = 4711'),
        markdown('```{solution-end}\n```'),
    )
    return pdf.write_latex(root, root / '_build' / 'pdf')


@pytest.fixture(scope='module')
def tex(folder):
    return (folder / f'{pdf.NAME}.tex').read_text('utf-8')


def test_every_link_has_its_label(tex):
    labels = set(re.findall(r'(?:\\label\{|\\bookanchor\{|\\booknumbered\{[^}]*\}\{)(?:\\detokenize\{)?([^}]+)\}', tex))
    links = re.findall(r'(?:\\hyperref\[|\\eqref\{|\\ref\{|\\pageref\*?\{)(?:\\detokenize\{)?([^]}]+)[]}]', tex)
    assert len(links) > 12 and not set(links) - labels
    assert {'book/claims:claim-dl.chain.sum', 'notebooks/calculus/chain_rule:check-dl.chain.sum'} <= labels & set(links)


def test_pictures_are_there_with_their_words(folder, tex):
    [(words, name)] = re.findall(r'\\bookpicture\{(\w+)\}\{\\sphinxincludegraphics\{\{(\w+)\}\.pdf\}\}', tex)
    assert (folder / f'{name}.pdf').is_file()
    assert bytes.fromhex(words).decode('utf-16') == 'Café: a blue box'


def test_paper_shows_what_a_reader_of_paper_wants(tex):
    for shown in (r'\begin{bookstatement}{Definition 1.1.1 (Linear map)}', r'\begin{bookexercise}{Exercise 1.1.1 (★★ The first one)}',
                  r'\begin{bookproof}', r'\bookqed', r'\begin{sphinxadmonition}{note}{Erratum}', 'longtable'):
        assert shown in tex, shown
    assert not re.search(r'draw\\PYGZus|nothing\\PYGZus|<(?:div|span|p|img)\b|About this book.*Cards', tex)
    body = tex[tex.index(r'\begin{document}'):]
    order = [r'\frontmatter', r'\chapter{About', r'\chapter{Notation', r'\mainmatter', r'\chapter{Calculus', r'\begin{bookexercise}',
             r'\booksolutions', r'\begin{booksolution}', '{4711}', r'\backmatter', r'\chapter{Claims', r'\chapter{Bibliography']
    places = [body.index(word) for word in order]
    assert places == sorted(places)


def test_figures_have_the_colours_of_the_white_page(folder):
    pypdf = pytest.importorskip('pypdf')
    [figure] = [path for path in folder.glob('*.pdf') if path.stem != pdf.NAME]
    drawn = pypdf.PdfReader(figure).pages[0].get_contents().get_data().decode('latin-1')
    strokes = [tuple(round(255 * float(part)) for part in found.split()[:3]) for found in re.findall(r'[\d. ]+(?= RG)', drawn)]
    assert strokes == [(0x03, 0x65, 0xfc)], 'not the blue of the style, but that of book.css'


def test_faults_that_latex_only_logs():
    log = """LaTeX Warning: Hyper reference `book/claims:claim-x' on page 3 undefined on input line 12.
LaTeX Warning: Reference `equation:a' on page 3 undefined on input line 12.
LaTeX Warning: Citation `book/bibliography:id2' on page 4 undefined on input line 12.
LaTeX Warning: Label `a' multiply defined.
Missing character: There is no ★ (U+2605) in font [texgyrepagella-bold.otf]/OT:script=latn;!
Overfull \\hbox (19.6pt too wide) in paragraph at lines 12--14
Overfull \\hbox (120.1pt too wide) detected at lines 7"""
    assert len(pdf.faults(log)) == 5 and not pdf.faults('LaTeX Warning: Label(s) may have changed.')
    assert pdf.overfull(log) == [(120, 7), (19, 12)]


def test_a_missing_program_is_named_with_its_packages(monkeypatch, tmp_path):
    monkeypatch.setenv('PATH', str(tmp_path))
    with pytest.raises(SystemExit, match='xelatex and latexmk(?s:.*)apt-get install(?s:.*)texlive-xetex'):
        pdf.main(['--root', str(tmp_path)])


@pytest.fixture(scope='module')
def paper(folder):
    """The PDF, read by pypdf, and what LaTeX has logged."""
    if lacking := pdf.missing():
        pytest.skip(f'{" and ".join(lacking)} not installed: {pdf.PACKAGES}')
    pypdf = pytest.importorskip('pypdf')
    made = pdf.typeset(folder, '1700000000')
    return pypdf.PdfReader(made), made.with_suffix('.log').read_text('utf-8', 'replace')


def flat(outline):
    for entry in outline:
        yield from flat(entry) if isinstance(entry, list) else [entry]


def test_latex_finds_no_fault(paper):
    assert pdf.faults(paper[1]) == [] and pdf.overfull(paper[1]) == []


def test_the_outline_has_chapters_and_sections(paper):
    titles = [entry.title for entry in flat(paper[0].outline)]
    wanted = ['About this book', 'Notation', 'Calculus', 'The chain rule', 'The first part', 'Solutions', 'Claims', 'Errata', 'Bibliography']
    assert [title for title in titles if title in wanted][:6] == wanted[:6] and set(wanted) <= set(titles)
    assert paper[0].metadata.title == 'Deep Learning, Verified' and paper[0].trailer['/Root']['/Lang'] == 'en'


def test_links_lead_to_places_that_exist(paper):
    reader = paper[0]
    links = [link.get_object() for page in reader.pages for link in page.get('/Annots', ())]
    inside = [link['/A'].get('/D') or link.get('/Dest') for link in links if link['/A']['/S'] == '/GoTo']
    assert len(inside) > 20
    assert not [name for name in inside if name not in reader.named_destinations]


def test_the_text_has_numbers_signs_and_solutions(paper):
    pages = [' '.join(page.extract_text().split()) for page in paper[0].pages]
    whole = ' '.join(pages)
    for words in ('See (1.1.1), Definition 1.1.1, Exercise 1.1.1', 'Vershynin', 'Definition 1.1.1 (Linear map)', '(1.1.1)', 'Theorem 1.1.1 (Zero)',
                  '✓ dl.chain.sum holds in 9 cases', '✗ λ ≤ ½, Σ, ‖x‖ → ∞, x² ★', 'High-Dimensional Probability', 'letter 89'):
        assert words in whole, (words, whole[:4000])
    solution = next(n for n, page in enumerate(pages, 1) if 'It is done, by Theorem 1.1.1' in page)
    label = paper[0].page_labels[solution - 1]
    assert f'Solution on page {label}' in whole
