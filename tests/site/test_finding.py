"""Finding things: maps of what depends on what, the glossary, the index of terms, the search."""
import json
import re
from collections import Counter
from types import SimpleNamespace

import pytest
import yaml
from booksite.claims.evidence import Book
from booksite.finding import glossary as terms
from booksite.finding import graph_layout, maps, plain_text
from booksite.finding.prerequisites import Prerequisites as Needs
from conftest import ROOT
from test_pages import AXE, PRUNE, VIOLATIONS

BOOK = Book(ROOT)
NEEDS = BOOK.needs = Needs(BOOK)


def book_of(root, **needs):
    """A book of one chapter with a section for each keyword, whose item **You need** has the given text (None: no item)."""
    sections = [{'file': f'notebooks/part/{name}'} for name in needs]
    (root / '_toc.yml').write_text(yaml.safe_dump(
        {'parts': [{'numbered': 2, 'chapters': [{'file': 'book/part', 'sections': sections}]}]}))
    (root / 'notebooks' / 'part').mkdir(parents=True)
    for name, text in needs.items():
        item = '' if text is None else f'\n- **You need** {text}'
        cell = {'cell_type': 'markdown', 'source': f'# {name}\n\n- **Question.** Why?{item}\n- **Time** [5](never.ipynb) s.\n'}
        (root / 'notebooks' / 'part' / f'{name}.ipynb').write_text(json.dumps({'cells': [cell]}))
    return Book(root)


def test_needs_are_read_from_their_item_alone(tmp_path):
    needs = Needs(book_of(tmp_path, a='nothing.', b='[a](a.ipynb) and, once\n  more, [its\n  part](../part/a.ipynb#here).'))
    assert needs.of == {'notebooks/part/a': [], 'notebooks/part/b': ['notebooks/part/a']} and not needs.problems
    assert needs.needed_by('notebooks/part/a') == ['notebooks/part/b']


@pytest.mark.parametrize('needs, place, words', [
    ({'a': None}, 'notebooks/part/a.ipynb:cell 1', 'no item **You need**'),
    ({'a': 'x and\n  [b](b.ipynb).'}, 'notebooks/part/a.ipynb:cell 1, line 5', 'b.ipynb, which is no section'),
    ({'a': '[c](c.ipynb).', 'b': '[a](a.ipynb).', 'c': '[b](b.ipynb).'}, 'notebooks/part/a.ipynb:cell 1, line 4', 'does not come earlier'),
    ({'a': '[a](a.ipynb).'}, 'notebooks/part/a.ipynb:cell 1, line 4', 'does not come earlier'),
])
def test_a_need_that_cannot_be_met_is_named(tmp_path, needs, place, words):
    [(where, what)] = Needs(book_of(tmp_path, **needs)).problems
    assert place in where and words in what


def test_a_map_leaves_out_what_follows(tmp_path):
    pages = [f'notebooks/part/{name}' for name in 'abc']
    needs = Needs(book_of(tmp_path, a='nothing', b='[a](a.ipynb)', c='[a](a.ipynb) and [b](b.ipynb)'))
    assert needs.inside(pages[2], pages) == [pages[1]]
    assert needs.outside(pages[2], pages[2:]) == [pages[1]]
    assert needs.inside(pages[2], [pages[0], pages[2]]) == [pages[0]], 'what is needed through a page elsewhere is needed'


def boxes_of(svg):
    rects = re.findall(r'<a href="([^"]*)"><rect x="(-?\d+)" y="(\d+)" width="(\d+)" height="(\d+)"', svg)
    return {name: tuple(map(int, place)) for name, *place in rects}


@pytest.mark.parametrize('chapter', [chapter for chapter, pages in BOOK.chapters.items() if len(pages) > 1])
def test_a_map_can_be_read(chapter):
    """Boxes do not touch, each stands below all that it needs, and the column of the text is wide enough for all."""
    env = SimpleNamespace(srcdir=str(ROOT), app=SimpleNamespace(booksite=BOOK))
    svg = maps.chapter_svg(env, chapter, str)
    assert int(re.search(r' width="(\d+)"', svg)[1]) <= 660
    boxes = boxes_of(svg)
    assert list(boxes) == BOOK.chapters[chapter]
    for page, (x, y, width, height) in boxes.items():
        for other, (x2, y2, width2, height2) in boxes.items():
            apart = x + width < x2 or x2 + width2 < x or y + height < y2 or y2 + height2 < y
            assert page == other or apart, (page, other)
            assert other not in NEEDS.implied[page] or y2 + height2 < y


def test_an_edge_goes_around_the_boxes_of_the_rows_between():
    chain = [('a', 'b'), ('b', 'c'), ('a', 'c')]
    svg = graph_layout.draw({name: graph_layout.Box('', name, name) for name in 'abc'}, chain, 'test')
    x, y, width, height = boxes_of(svg)['b']
    long = next(path for path in re.findall(r'<path d="([^"]*)"', svg) if 'V' in path)
    bend = float(re.search(r'(-?\d+) \d+V', long)[1])
    assert not x <= bend <= x + width


def test_chapter_pages_show_links_in_the_map_and_the_same_in_a_list(parsed):
    for chapter, pages in BOOK.chapters.items():
        page = parsed(chapter)
        if len(pages) == 1:
            continue
        hrefs = [link['href'] for link in page.select('svg.map a:not(.aside)')]
        assert [href.removeprefix('../').removesuffix('.html') for href in hrefs] == pages
        listed = {item.a['href']: [link['href'] for link in item.select('a')[1:]] for item in page.select('.map-list li')}
        for section, href in zip(pages, hrefs, strict=True):
            assert [need.removeprefix('../').removesuffix('.html') for need in listed[href]] == NEEDS.of[section]


def test_numbers_are_those_of_the_pages(parsed):
    for page, number in BOOK.numbers.items():
        assert parsed(page).select_one('article h1').get_text().startswith(f'{number}. ')


@pytest.mark.parametrize('section', BOOK.sections)
def test_figures_have_numbers_captions_and_lasting_addresses(parsed, section):
    figures = parsed(f'notebooks/{section}').select('figure')
    outputs = [output for cell in BOOK.cells(section) for output in cell.get('outputs', ())]
    assert len(figures) == sum(not {'image/svg+xml', 'image/png'}.isdisjoint(output.get('data', ())) for output in outputs)
    for number, figure in enumerate(figures, 1):
        assert figure['id'] == f'figure-{number}'
        assert re.fullmatch(rf'Fig\. \d+\.\d+\.{number}\s*', figure.select_one('figcaption .caption-number').text)
        assert len(figure.select_one('figcaption .caption-text').text.split()) > 5


def test_a_section_says_who_needs_it(parsed):
    page = 'notebooks/linear_algebra/norms'
    links = parsed(page).select('p.needed-by a')
    assert [link.get_text().split()[0] for link in links] == [BOOK.numbers[user] for user in NEEDS.needed_by(page)]


GLOSSARY = terms.Glossary(BOOK)
SMALL = '''
```{glossary}
.. not linked: tensor
.. part/a

matrix
a table
  Numbers in $m$ rows.

tensor
  Numbers.

.. part/b

least squares
  A sum.
```
'''


def glossary_of(root, text):
    (root / 'book').mkdir()
    (root / 'book' / 'glossary.md').write_text(text)
    return terms.Glossary(book_of(root, a='nothing', b='nothing'))


def test_the_glossary_is_read(tmp_path):
    glossary = glossary_of(tmp_path, SMALL)
    assert [(term.names, term.section, term.line) for term in glossary.terms] == [
        (('matrix', 'a table'), 'part/a', 6), (('tensor',), 'part/a', 10), (('least squares',), 'part/b', 15)]
    assert terms.shown(glossary.terms[0]) == 'Numbers in m rows.' and glossary.not_linked == {'tensor'}
    text = 'Matrices, a Table, least-squares, submatrix, tensorial; a least\nsquares fit of matrix-free tensors'
    assert [(match[0], term.name) for match, term in glossary.found(text)] == [
        ('Matrices', 'matrix'), ('a Table', 'matrix'), ('least-squares', 'least squares'),
        ('least\nsquares', 'least squares'), ('matrix', 'matrix'), ('tensors', 'tensor')]


@pytest.mark.parametrize('change, place, words', [
    (('part/b', 'part/c'), 'book/glossary.md:13', 'part/c is no section'),
    (('least squares', 'Matrices'), 'book/glossary.md:15', 'is also a name of'),
    (('.. part/a\n', ''), 'book/glossary.md:5', 'no section is named'),
])
def test_faults_of_the_glossary_are_named(tmp_path, change, place, words):
    problems = glossary_of(tmp_path, SMALL.replace(*change)).problems
    assert any(place in where and words in what for where, what in problems), problems


def test_entries_of_the_glossary_lead_to_where_they_are_introduced(parsed):
    page = parsed('book/glossary')
    assert len(page.select('dl.glossary > dd')) == len(GLOSSARY.terms) >= 150
    targets = Counter(link['href'] for link in page.select('.introduced-in a'))
    assert set(targets.values()) == {1}
    for section in BOOK.sections:
        anchors = [href.split('#')[1] for href in targets if href.split('#')[0] == f'../notebooks/{section}.html']
        ids = {element['id'] for element in parsed(f'notebooks/{section}').select('[id]')}
        assert set(anchors) <= ids and anchors, section


def test_terms_are_linked_once_in_prose_and_not_at_home(parsed):
    named = {terms.defined(term): term for term in GLOSSARY.terms}
    for section in BOOK.sections:
        links = parsed(f'notebooks/{section}').select('a.term')
        used = [named[link['href'].split('#')[1]] for link in links]
        assert len(set(used)) == len(used) and links, section
        assert all(term.section != section and term.name not in GLOSSARY.not_linked for term in used)
        assert not [link for link in links if link.find_parent(['h1', 'h2', 'h3', 'pre', 'code', 'a', 'figcaption'])]
        assert all(link['title'] == terms.shown(term) for link, term in zip(links, used, strict=True))


def test_a_tooltip_opens_from_the_keyboard(page, address):
    page.goto(f'{address}notebooks/linear_algebra/whitening.html')
    link = page.locator('a.term').first
    link.focus()
    shown = page.locator('.tooltip')
    shown.wait_for()
    name = link.get_attribute('href').split('#')[1]
    assert shown.inner_text() == next(terms.shown(term) for term in GLOSSARY.terms if terms.defined(term) == name)
    assert link.get_attribute('aria-describedby') == shown.get_attribute('id')


def test_the_index_leads_to_sections(parsed, site):
    page = parsed('book/index_of_terms')
    items = {item.a.get_text(): item for item in page.select('ul.index-of-terms li')}
    assert {name for term in GLOSSARY.terms for name in term.names} <= set(items)
    places = items['condition number'].select('.index-places a')
    assert [link.get_text() for link in places if link.find_parent('strong')] == [BOOK.numbers['notebooks/linear_algebra/lu_decomposition']]
    assert BOOK.numbers['notebooks/optimization/momentum'] in [link.get_text() for link in places]
    assert 'Sum over paths (theorem)' in items and 'Chain rule (theorem)' not in items, 'the term is there already'
    assert 'see learning rate' in items['step size'].get_text()
    cache = {}
    for link in page.select('ul.index-of-terms a'):
        target, _, anchor = link['href'].partition('#')
        file = (site / 'book' / target).resolve()
        cache.setdefault(file, file.read_text('utf-8'))
        assert not anchor or f'id="{anchor}"' in cache[file], link


@pytest.mark.parametrize('latex, text', [
    (r'\lVert \mathbf{x} \rVert_2^2 \le \tfrac12 \mathbf{A}^\top', '‖x‖₂² ≤ 1/2 Aᵀ'),
    (r'\frac{\partial f}{\partial x_i} = -\sqrt{2\pi}', '(∂f)/(∂xᵢ) = −√(2π)'),
    (r'\hat{\mathbf w}_{t+1} \in \mathbb{R}^{m \times n}', 'ŵₜ₊₁ ∈ ℝ^(m × n)'),
    (r'e^{-x^2/2} \text{ for all } x \ne \{0\}', 'e^(−x²/2) for all x ≠ {0}'),
    (r'\begin{bmatrix} 1 & 2 \end{bmatrix} \nosuch', '[…] nosuch'),
])
def test_formulas_as_plain_text(latex, text):
    assert plain_text.formula(latex) == text


def test_symbols_of_the_notation_page_are_where_it_says():
    """Each link of its tables leads to a section in which the symbol stands, or its name in code or in words."""
    sections = {section: bare(''.join(''.join(cell['source']) for cell in BOOK.cells(section))) for section in BOOK.sections}
    names = {section.split('/')[1] for section in BOOK.sections}
    lost, late = [], []
    for row in (ROOT / 'book' / 'notation.md').read_text('utf-8').splitlines():
        cells = [cell.strip() for cell in row.strip('|').split(' | ')]
        if len(cells) != 4 or cells[0] == 'symbol':
            continue
        symbols = [*map(symbol, re.findall(r'\$([^$]+)\$', cells[0])), *re.findall(r'`([^`]{3,})`', cells[1])]
        symbols.append(bare(re.split('[,;:(]', cells[2])[0]))
        for path in re.findall(r'\(\.\./notebooks/([^)]*)\.ipynb\)', cells[3]):
            if not any(shown in sections[path] for shown in symbols):
                lost.append(f'{cells[0]} in {path}')
        if '](' not in cells[3] and cells[3].lower().replace(' ', '_') in names:
            late.append(row)
    assert not lost, 'book/notation.md: not found\n' + '\n'.join(lost)
    assert not late, 'book/notation.md: this section exists now, link it\n' + '\n'.join(late)


def symbol(latex):
    """A symbol in the form of `bare`; an operator without the letters beside it."""
    operators = re.findall(r'\\(?:langle|sim|succeq|otimes|odot|times|circ)\b', latex)
    return bare(operators[0] if operators else latex)


def bare(latex):
    """LaTeX without what says how letters are set, and functions without their arguments: in these the sections differ."""
    latex = re.sub(r'\\(mathbf|boldsymbol|mathsf|mathrm|operatorname|bm|[td]?frac|[lr]?Vert|top|,|;|\|)|\^T|[ {}\\|]', '', latex)
    return re.sub(r'(?<=[A-Za-z])\([^()]*\)', '(', latex)


def test_each_section_asks_a_question_that_needs_no_page():
    """The cards of the first page show them: what stands before a question on its own page is not there."""
    assert list(BOOK.questions) == BOOK.sections, 'book/questions.yml: a line for each section, in the order of _toc.yml'
    torn = re.compile(r"(And|But|Or|So|Then|What do (they|these|it)|Is (this|it)|Why (is|does) (this|it)|This|These|It|They)\b(?! true that)")
    for section, question in BOOK.questions.items():
        assert question.endswith('?') and question.count('?') == 1 and '. ' not in question, f'{section}: one question, and nothing else'
        assert not torn.match(question), f'{section}: {question} What is meant?'
        assert 30 <= len(question) <= 140, f'{section}: {len(question)} letters'


def test_cards_show_the_questions(parsed):
    cards = parsed('book/index').select('.section-cards .sd-card')
    shown = [re.sub('[“”]', '"', card.select_one('.sd-card-text').get_text().strip()) for card in cards]
    assert shown == list(BOOK.questions.values())
    headings = parsed('book/index').select('p.section-cards a')
    assert [link['href'].removesuffix('.html') for link in headings] == [chapter.removeprefix('book/') for chapter in BOOK.chapters]
    assert headings[0].get_text() == '1 Linear algebra'


QUERIES = yaml.safe_load((ROOT / 'tests' / 'site' / 'queries.yml').read_text('utf-8'))
ASKED = yaml.safe_load((ROOT / 'book' / 'asked.yml').read_text('utf-8'))


def test_the_lists_of_queries_know_the_book():
    assert set(QUERIES) == set(BOOK.sections), 'tests/site/queries.yml: what do readers type who need the section? Five are good'
    assert min(map(len, QUERIES.values())) >= 2 and sum(map(len, QUERIES.values())) >= 120
    assert {section for section in ASKED['asked'] if not section.startswith('book/')} <= set(BOOK.sections)
    titles = {''.join(BOOK.cells(section)[0]['source']).splitlines()[0].lstrip('# ').lower() for section in BOOK.sections}
    assert not [topic for topic in ASKED['planned'] if topic.lower() in titles], 'book/asked.yml: this is not only planned any more'
    lacking = {phrase for kind in ('planned', 'absent') for phrases in ASKED[kind].values() for phrase in phrases}
    there = {name.lower() for term in GLOSSARY.terms for name in term.names} | set(sum(ASKED['asked'].values(), []))
    assert not lacking & there, 'book/asked.yml: this is in the book'


@pytest.fixture
def ask(page, address):
    """A function that types queries on the page of the search, one after the other; gives what is found for each of them."""
    page.goto(f'{address}search.html')
    return lambda *queries: page.evaluate(ANSWERS, queries)


ANSWERS = """queries => queries.map(query => {  // `pages`: those that the results lead to, each once, as they stand
  const field = document.querySelector('.bd-search-container input[name=q]'), all = selector => [...document.querySelectorAll(selector)];
  field.value = query;
  field.dispatchEvent(new Event('input', {bubbles: true}));
  const first = document.querySelector('ul.search > li');
  return {
    query, text: document.querySelector('.search-results').textContent, marks: all('ul.search mark').length, planned: all('ul.search > li.planned').length,
    pages: [...new Set(all('ul.search a.result').map(a => a.getAttribute('href').split('#')[0]))],
    first: first?.textContent, target: first?.querySelector('a')?.getAttribute('href'),
  };
})"""


def test_queries_of_readers_lead_to_their_pages(page, address, ask):
    """Counted among all results, names of terms and pages. The field answers while one types, and shows no TeX."""
    foreign, places, lost, said = [], [], [], []
    page.on('request', lambda request: request.url.startswith(address) or foreign.append(request.url))
    asked = [(query, section) for section, queries in QUERIES.items() for query in queries]
    for answer, (query, section) in zip(ask(*(query for query, _ in asked)), asked, strict=True):
        links, wanted = answer['pages'], f'notebooks/{section}.html'
        places.append(links.index(wanted) if wanted in links[:3] else 3)
        if places[-1]:
            lost.append(f'{query}: not {section} but {links[:3]}')
        said += [query] * bool(answer['planned'])
        assert not re.search(r'[\\$]|\bdef \w+\(', answer['text']), query
    assert page.locator('ul.search > li').first.is_visible()
    assert max(places) < 3 and places.count(0) >= .95 * len(places), '\n'.join(['', *lost])
    assert not said, 'said to be missing: ' + ', '.join(said)
    page.wait_for_selector('ul.search mark')
    assert not foreign


def test_the_prose_of_sections_shows_no_latex(site):
    """A line of a formula that begins with +, -, > or a number with a bracket ends the formula: Markdown takes it for a list."""
    texts = [path.read_text('utf-8') for path in site.glob('search/notebooks/**/*.js')]
    parts = [part for text in texts for part in json.loads(text[text.index('{'):text.rindex('}') + 1])['parts']]
    assert len(texts) == len(BOOK.sections) and len(parts) > 5 * len(texts)
    raw = [f'{anchor}: ... {found[0]}' for anchor, *said in parts for words in said if (found := re.search(r'.{0,60}[$\\].{0,60}', words))]
    assert not raw, 'LaTeX in sight:\n' + '\n'.join(raw)


def test_what_is_asked_names_no_section_twice():
    """YAML would take the last one and say nothing."""
    names = re.findall(r'^  ([^\s:][^:]*):', (ROOT / 'book' / 'asked.yml').read_text('utf-8'), re.M)
    assert len(names) > 50 and len(names) == len(set(names))


def test_what_is_planned_is_said(page, address):
    page.goto(f'{address}search.html?q=what is an lstm')
    assert 'planned, not in the book yet' in page.locator('ul.search > li.planned').inner_text()
    page.locator('.bd-search-container input[name=q]').fill('lasso')
    assert not page.locator('ul.search > li.planned').count()


BOTH = {
    'layer norm vs batch norm': ['convolution/layer_normalization', 'convolution/batch_normalization'],
    'difference between ridge and lasso': ['regression/ridge_regression', 'regression/lasso'],
    'adam vs. sgd': ['optimization/adaptive_methods', 'optimization/stochastic_gradient_descent'],
    'difference between l1 and l2 regularization': ['regression/lasso', 'regression/weight_decay', 'regression/ridge_regression'],
    'why does my loss become nan': ['neural_networks/vanishing_and_exploding_gradients', 'classification/softmax'],
    'L1': ['linear_algebra/norms', 'regression/lasso'],
}
PAGES = {  # that are no sections
    'author': 'index', 'how to cite': 'index', 'install': 'how_to_read', 'pdf download': 'how_to_read', 'mnist': 'data',
}
MISSING = {  # what is said first, and how many pages are shown at most
    'reinforcement learning': ('Reinforcement learning: not in the book', 0),
    'monte carlo tree search': ('Reinforcement learning: not in the book', 0),
    'graph neural network': ('Message passing on graphs: planned, not in the book yet', 0),
    'random forest': ('Decision trees and boosting: not in the book', 0),
    'stock price prediction': ('Time series: not in the book', 3),
    'vector database': ('Prompts and retrieval: not in the book', 0),
    'fine-tuning': ('Transfer learning: not in the book', 1),
    'u-net': ('Object detection and segmentation: not in the book', 0),
    'simulated annealing': ('is not in the book by this name', 3),
    'r squared': ('Coefficient of determination: not in the book', 3),
    'california housing': ('Other data sets: not in the book', 0),
    'quantum computing': ('is not in the book by this name', 3),
    'capsule network': ('is not in the book by this name', 3),
}


def test_two_things_are_both_found(ask):
    for answer, first in zip(ask(*BOTH), BOTH.values(), strict=True):
        assert answer['pages'][:len(first)] == [f'notebooks/{section}.html' for section in first], answer['query']


def test_pages_that_are_no_sections_are_found(ask):
    assert {answer['query']: answer['pages'][0] for answer in ask(*PAGES)} == {query: f'book/{page}.html' for query, page in PAGES.items()}


def test_excerpts_are_fetched_when_they_come_into_sight(page, address):
    """The texts of all pages are most of what the search would weigh."""
    asked = []
    page.on('request', lambda request: asked.append(request.url.removeprefix(address)))
    page.goto(f'{address}search.html')
    assert not [url for url in asked if url.startswith('search/')]
    page.locator('.bd-search-container input[name=q]').fill('gradient')
    page.wait_for_selector('ul.search mark')
    page.wait_for_timeout(300)
    texts = [url for url in asked if url.startswith('search/')]
    assert 1 <= len(texts) < page.locator('ul.search .excerpt-of').count() / 2
    assert 'gradient' in page.locator('ul.search .excerpt-of').first.inner_text().lower()


def test_what_is_not_in_the_book_is_said_and_no_noise_is_shown(ask):
    for answer, (said, most) in zip(ask(*MISSING), MISSING.values(), strict=True):
        assert said in answer['first'] and len(answer['pages']) <= most, answer['query']


def test_the_dialog_shows_what_is_found(page, address):
    """On any page Ctrl-K opens it; the search is fetched then. Enter opens the first result, and a link leads to all."""
    page.goto(f'{address}book/linear_algebra.html')
    page.keyboard.press('Control+k')
    page.locator('dialog[open] input[name=q]').fill('pca')
    first = page.locator('dialog[open] ul.search > li:not(.named) > a').first
    first.wait_for()
    first.click()
    page.wait_for_url('**/notebooks/linear_algebra/low_rank_and_pca.html')
    page.keyboard.press('Control+k')
    page.keyboard.type('lasso')  # at once, before the search is there
    page.keyboard.press('Enter')
    page.wait_for_url('**/notebooks/regression/lasso.html*')
    page.keyboard.press('Control+k')
    page.locator('dialog[open] input[name=q]').fill('lasso')
    page.get_by_role('link', name='All results for “lasso”').click()
    page.wait_for_url('**/search.html?q=lasso', wait_until='commit')


def test_the_keys_lead_through_the_dialog(page, address):
    """The results are links, and the one that is chosen has the focus: a screen reader says it."""
    page.goto(f'{address}book/linear_algebra.html')
    page.keyboard.press('Control+k')
    field = page.locator('dialog[open] input[name=q]')
    field.fill('weights decay in a network')
    results = page.locator('dialog[open] a.result')
    results.nth(2).wait_for()
    at = '() => [...document.querySelectorAll("dialog[open] a.result")].indexOf(document.activeElement)'
    for key, place in (('ArrowUp', -1), ('ArrowDown', 0), ('ArrowDown', 1), ('ArrowDown', 2), ('ArrowUp', 1)):
        page.keyboard.press(key)
        assert page.evaluate(at) == place, (key, place)
    assert page.evaluate('document.activeElement.matches(":focus-visible")') and page.locator('dialog[open] [role=status]').inner_text()
    target = results.nth(1).get_attribute('href')
    page.keyboard.press('Enter')
    page.wait_for_url(f'**/{target.rsplit("/", 1)[-1]}')
    page.keyboard.press('Control+k')
    field.fill('lasso')
    results.first.wait_for()
    page.keyboard.press('ArrowDown')
    page.keyboard.press('s')
    assert field.input_value() == 'lassos' and page.evaluate('document.activeElement.name') == 'q', 'who types goes on in the field'
    page.keyboard.press('Escape')
    page.wait_for_selector('dialog[open]', state='detached')


def test_the_dialog_has_no_barrier(page, address):
    page.goto(f'{address}book/linear_algebra.html')
    page.add_style_tag(content='* { transition: none !important; animation: none !important; }')
    page.evaluate(AXE)
    page.evaluate(PRUNE)
    page.keyboard.press('Control+k')
    page.locator('dialog[open] input[name=q]').fill('norm')
    page.locator('dialog[open] a.result').nth(2).wait_for()
    assert not page.evaluate(VIOLATIONS, {})


NAMED = {
    'dl.norms.triangle': ('dl.norms.triangle', 'notebooks/linear_algebra/norms.html#check-dl.norms.triangle'),
    'KL divergence': ('Kullback–Leibler divergence', 'notebooks/optimization/jensens_inequality.html#introduced-'),
    'condition number': ('condition number', 'notebooks/linear_algebra/lu_decomposition.html#introduced-'),
}


def test_a_name_is_found_first(ask):
    for answer, (name, target) in zip(ask(*NAMED), NAMED.values(), strict=True):
        assert name in answer['first'] and answer['target'].startswith(target), answer['query']


def test_the_search_works_from_a_folder_and_says_when_nothing_is_found(page, site):
    page.goto(f'{(site / "search.html").as_uri()}?q=gradient')
    page.wait_for_selector('ul.search li .context')
    page.locator('.bd-search-container input[name=q]').fill('xyzzy')
    assert 'Nothing was found' in page.inner_text('.search-summary')


def test_the_search_is_loaded_on_its_page_alone(parsed):
    """The stock search and its index of 300 kB would come with every page."""
    scripts = {page: [script['src'] for script in parsed(page).select('script[src]')]
               for page in ('search', 'book/index', 'notebooks/linear_algebra/norms')}
    assert [src.rsplit('/')[-1] for src in scripts['search'] if 'search' in src] == ['minisearch.js', 'search_index.js', 'search.js']
    assert not [src for srcs in scripts.values() for src in srcs if 'searchtools' in src or 'searchindex' in src or 'language_data' in src]
    assert not [src for src in scripts['book/index'] if 'search' in src]
