"""An incremental build gives the files that a cold one gives, whatever has changed: tried on a small book, change by change."""
import shutil

import pytest
import yaml
from conftest import ROOT
from small_book import build, code, figure, markdown, printed, write

from nbutils import ledger

TOC = '''
format: jb-book
root: book/index
parts:
  - caption: Chapters
    numbered: 2
    chapters:
      - file: book/calculus
        sections:
          - file: notebooks/calculus/chain_rule
          - file: notebooks/calculus/flow
      - file: book/algebra
        sections:
          - file: notebooks/algebra/sizes
  - caption: Reference
    chapters: [file: book/glossary, file: book/index_of_terms, file: book/claims, file: book/errata, file: book/bibliography]
'''
PAGES = {
    'index': '# A book\n\nOf {ledger}`verified` statements.\n\n```{section-cards}\n```\n\n```{book-map}\n```\n',
    'calculus': '# Calculus\n\n```{chapter-map} book/calculus\n```\n\n```{section-cards} book/calculus\n```\n',
    'algebra': '# Algebra\n\n```{check-lines} dl.chain.sum\n```\n',
    'glossary': '# Glossary\n\n```{glossary}\n.. calculus/flow\n\nflux\n  What flows.\n\n.. algebra/sizes\n\nnorm\n  A size.\n```\n',
    'index_of_terms': '# Index of terms\n\n```{index-of-terms}\n```\n',
    'bibliography': '# Bibliography\n\n```{bibliography}\n```\n',
}
BIB = '@book{bee, author={Ada Bee}, title={A first title}, year={1900}, publisher={P}}\n'
CHECK = '✓ dl.chain.sum holds in 9 cases; would notice: says no (x = 1)\n'
RULE = r'''Of flux, after {cite:t}`bee`.

## A first part

$$x = 1$$ (one)

```{prf:definition} Map
:label: def-map
A map.
```

```{exercise} The first one
:label: ex-first
Do it.
```
'''
FLOW = '''The flux of a norm: see [](chain_rule.ipynb#a-first-part), {numref}`fig-rule`, {ref}`fig-rule`, {eq}`one`, {prf:ref}`def-map` and {ref}`ex-first`.

![A page](../../book/_static/page.png)
'''


def section(path, title, needs, text, said='', caption='A line'):
    """Write the notebook of a section, with a figure that has a caption."""
    look = {'figure': {'caption': caption, 'name': f'fig-{path.stem.split("_")[-1]}'}, 'image': {'alt': 'a line'}}
    write(
        path, markdown(f'# {title}\n\n- **Question.** Why {title}?\n- **You need** {needs}'), markdown(text),
        code('check()', *([printed(said)] if said else [])),
        code('draw(x)', figure(sum(map(ord, title + caption))), mystnb=look),
    )


def told(heading):
    """Whether the ledger of the small book has this heading: those of one of its sections, and of one that is not written."""
    return heading['section'] in ('calculus/chain_rule', 'probability/bayes_theorem')


def lay_out(root):
    """A book of three sections that refer to one another in every way, with an extension and a ledger of its own."""
    for folder in ('_ext', '_static'):
        shutil.copytree(ROOT / 'book' / folder, root / 'book' / folder)
    (root / 'book' / 'claims').mkdir()
    for name in ledger.FILES:
        (root / 'book' / 'claims' / f'{name}.yml').write_text(yaml.safe_dump(list(filter(told, ledger.headings(name)))))
    shutil.copytree(ROOT / 'nbutils', root / 'nbutils')
    shutil.copy(ROOT / '_config.yml', root)
    for name in ('claims.md', 'errata.md', 'printed.yml'):
        shutil.copy(ROOT / 'book' / name, root / 'book')
    for name, text in PAGES.items():
        (root / 'book' / f'{name}.md').write_text(text)
    (root / 'book' / 'references.bib').write_text(BIB)
    (root / 'book' / 'questions.yml').write_text('algebra/sizes: What is flux?\n')
    (root / '_toc.yml').write_text(TOC)
    section(root / 'notebooks/calculus/chain_rule.ipynb', 'The chain rule', 'nothing.', RULE, CHECK)
    section(root / 'notebooks/calculus/flow.ipynb', 'Flow', 'the [chain rule](chain_rule.ipynb).', FLOW)
    section(root / 'notebooks/algebra/sizes.ipynb', 'Sizes', '[flow](../calculus/flow.ipynb).', 'Flux and norm.')


def replace(name, old, new):
    """A change: in the file, from the old text to the new one."""
    def change(root):
        path = root / name
        text = path.read_text('utf-8')
        assert old in text
        path.write_text(text.replace(old, new, 1), 'utf-8')
    return change


def add_a_page(root):
    section(root / 'notebooks/algebra/more.ipynb', 'More', '[sizes](sizes.ipynb).', 'More flux.')
    replace('_toc.yml', 'algebra/sizes', 'algebra/sizes\n          - file: notebooks/algebra/more')(root)


def remove_a_page(root):
    (root / 'notebooks/algebra/more.ipynb').unlink()
    replace('_toc.yml', '          - file: notebooks/algebra/more\n', '')(root)


def exchange_sections(root):
    """The second one does not need the first one any more, so it may come first."""
    replace('notebooks/calculus/flow.ipynb', 'the [chain rule](chain_rule.ipynb).', 'nothing.')(root)
    replace('_toc.yml', '''          - file: notebooks/calculus/chain_rule
          - file: notebooks/calculus/flow''', '''          - file: notebooks/calculus/flow
          - file: notebooks/calculus/chain_rule''')(root)


def change_a_figure(root):
    section(root / 'notebooks/calculus/chain_rule.ipynb', 'The chain rule', 'nothing.', RULE, CHECK, caption='A longer line')


RULES, LEDGER = 'notebooks/calculus/chain_rule.ipynb', 'book/claims/dl.yml'
CHANGES = {  # in this order: the first ones are read again alone, so that nothing covers what they forget
    'nothing': lambda root: None,
    'prose': replace(RULES, 'Of flux', 'A norm, and of flux'),
    'a place that cites': replace('notebooks/calculus/flow.ipynb', 'The flux of a norm', 'The flux of {cite:t}`bee` and a norm'),
    'a heading that others name': replace(RULES, 'A first part', 'A first Part'),
    'a figure and its caption': change_a_figure,
    'a formula more': replace(RULES, '## A first part', r'$$y = 2$$ (two)\n\n## A first part'),
    'what a check printed': replace(RULES, 'in 9 cases', 'in 8 cases'),
    'a question': replace('notebooks/calculus/flow.ipynb', 'Why Flow?', 'Why flow at all?'),
    'a question of the list': replace('book/questions.yml', 'What is flux?', 'What is flux, and why?'),
    'a style sheet': replace('book/_static/book.css', '{', '{ '),
    'a work': replace('book/references.bib', 'A first title', 'A later title'),
    'a term': replace('book/glossary.md', 'What flows.', 'What flows on.'),
    'the title of a section': replace('notebooks/calculus/flow.ipynb', '# Flow', '# Flows'),
    'the title of a chapter': replace('book/algebra.md', '# Algebra', '# Linear algebra'),
    'a claim': replace(LEDGER, 'title: The chain rule needs', 'title: A chain rule needs'),
    'a page more': add_a_page,
    'a page less': remove_a_page,
    'a section elsewhere': exchange_sections,
}


def files(root, out):
    """Name of each file of the site that is built of `root` in `out` -> its bytes."""
    status, said = build(root, out)
    assert not status, said[-3000:]
    folder = out / '_build' / 'html'
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob('*') if path.is_file()}


def all_but_formulas(folder, names):
    """What a cold build does not find: it may keep the formulas, each set by node for itself, half a second in all."""
    return [name for name in names if 'formulas' not in f'{folder}/{name}']


@pytest.fixture(scope='module')
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp('fresh') / 'book'
    lay_out(root)
    return root


def test_an_incremental_build_is_the_cold_one(root):
    made = files(root, root.with_name('kept'))
    for name, change in CHANGES.items():
        change(root)
        kept, cold = files(root, root.with_name('kept')), root.with_name('cold')
        if name != 'nothing':
            shutil.rmtree(cold, ignore_errors=True)
            shutil.copytree(root.with_name('kept') / '_build' / '.doctrees', cold / '_build' / '.doctrees', ignore=all_but_formulas)
            made = files(root, cold)
        assert sorted(kept) == sorted(made), name
        assert [page for page in made if kept[page] != made[page]] == [], name
