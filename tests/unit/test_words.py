import ast

import nbformat
import pytest

from nbutils.maintain import sections, words


@pytest.mark.parametrize('text, expected', [
    ('0.74 and -0.5', [('0.74', 0.74, 0.01), ('0.5', 0.5, 0.1)]),
    ('442 of 9 in 12', [('442', 442, 1)]),
    ('1,400 or 60 000, or 12,345,678.', [('1400', 1400, 1), ('60000', 60000, 1), ('12345678', 12345678, 1)]),
    ('1.4 million, 5 % or 7.5 per cent', [('1.4 million', 1.4e6, 1e5), ('5 %', 0.05, 0.01), ('7.5 per cent', 0.075, 0.001)]),
    ('3e-5, 2.5e3', [('3e-5', 3e-5, 1e-5), ('2.5e3', 2500, 100)]),
    ('version 0.2.0 at 2:02:05, ResNet50, x100', []),
    ('(3, 107, 160)', [('107', 107, 1), ('160', 160, 1)]),
])
def test_numbers_that_count(text, expected):
    found = words.numbers(text)
    assert [one.text for one in found] == [text for text, _, _ in expected]
    for one, (_, value, step) in zip(found, expected, strict=True):
        assert one.value == pytest.approx(value, rel=1e-12) and one.step == pytest.approx(step, rel=1e-12)


@pytest.mark.parametrize('markdown, expected', [
    ('It is $0.5$. Then {cite:t}`a2000` says 100.', ['0.5', '100']),
    ('```{math}\n:label: a.b\nx = 0.25\n```\nand $$ y = 0.75 $$ but 0.1', ['0.1']),
    ('[the 300](a_400.ipynb#x500), {eq}`ml.600`', ['300']),
    (r'$3 \cdot 10^{-5}$, $10^6$, $x^{0.25}$, $a_{100}$, $100{,}000$, $38\,400$', ['3e-5', '1e6', '100000', '38400']),
    (r'$\frac12 \cdot 180$, $\frac1{100}$, $\sqrt{2 \cdot 200}$', ['180', '100', '200']),
    (r'$63\,\%$ of $n$', ['63 %']),
])
def test_numbers_of_prose(markdown, expected):
    assert [one.text for sentence in words.sentences(markdown) for one in words.numbers(sentence)] == expected


def test_formulas_are_computed():
    markdown = r'$1/\sqrt{575} \approx 0.042$, $2 \cdot 0.15 \cdot 0.85 = 0.255$, $1 - 1/e = 0.64$, $x = 0.5$, $\binom{67}{4} = 766\,480$'
    found = [(one.text, round(value, 4)) for one, value in words.computed(markdown)]
    assert found == [('0.042', 0.0417), ('0.255', 0.255), ('0.15', 0.15), ('0.85', 0.85), ('0.64', 0.6321), ('766480', 766480)]


def test_columns_of_a_table_are_no_thousands():
    assert [one.text for one in words.shown_by([{'text': 'degree 3 395 of 1,400'}])] == ['3', '395', '1400']


def test_numbers_of_code():
    code = 'a = 0.25 * 3\nx[400], x[50:550], np.r_[7]\nax.plot(a, lw=0.7, label="n = 300")\nnp.linspace(0.5, 2.5, 201)\nrng = default_rng(999)'
    values = {one.value for one in words.literals(ast.parse(code))}
    assert values == {0.75, 0.25, 3, 300, 0.5, 2.5, 500, 7}


def test_texts_of_figures():
    figure = ('<g class="mpl-xtick"><use class="mpl-line2d" href="#f-1" /><g class="mpl-text" aria-label="0.2"/></g>'
              '<g class="mpl-text" aria-label="error 0.35" />')
    assert words.labels([{'data': {'image/svg+xml': figure}}]) == ['error 0.35']
    assert words.printed([{'text': 'a\n'}, {'data': {'text/plain': '0.5'}}, {'data': {'text/plain': '<Figure size 3x2>'}}]).split() == ['a', '0.5']


def section(*cells):
    """A recorded section of cells: Markdown as text, code as (source, output) or (source, output, caption)."""
    made = []
    for cell in cells:
        if isinstance(cell, str):
            made.append({'cell_type': 'markdown', 'source': cell, 'metadata': {}})
        else:
            source, output, *caption = cell
            figure = [{'data': {'image/svg+xml': '<svg/>'}}] if caption else []
            about = {'mystnb': {'figure': {'caption': caption[0]}}} if caption else {}
            outputs = [{'output_type': 'stream', 'name': 'stdout', 'text': output}, *figure]
            made.append({'cell_type': 'code', 'source': source, 'metadata': about, 'outputs': outputs})
    page = sections.Section('chapter/section.py')
    page.stored = nbformat.from_dict({'cells': made})
    return words.Numbers(page)


PAGE = ('# Title', ('seed = 314', ''), '## One', 'PROSE', ('tol = 0.05', 'mean 0.7391, 1797 digits, share 62.5 %, calls in millions 1.62'), 'Then.',
        ('a = 0.45', 'b 0.8612'), 'More.', '## Two', 'Far.', ('c = 0.35', '0.52 and 0.1234'), '## Summary', 'All.')


@pytest.mark.parametrize('prose, shown', [
    ('The mean is 0.739.', True), ('The mean is 0.74.', True), ('The mean is 0.75.', False), ('The mean is 0.7391.', True),
    ('It is 0.7.', False), ('It is about 0.7.', True), ('It is about 0.8.', False),  # one digit is no rounding
    ('It is 0.73910.', False),  # more digits than are shown
    ('A share of 0.625.', True), ('A share of 62.5 %.', True), ('That is 63 %.', True), ('That is 26 %.', False),
    ('It is 1.6 million.', True), ('It is 1.7 million.', False), ('The tolerance is 0.05.', True), ('The tolerance is 0.045.', False), ('It is 5 %.', True), ('It is 0.73910.', False),
    ('The 1797 digits.', True), ('The 1979 digits.', False), ('About 1800 digits.', True), ('The 1800 digits.', False),
    ('Later 0.861 is found.', True), ('Later 0.86 is found.', False), ('And 0.45 is set.', False),  # few digits, far away
    ('Elsewhere 0.123 is found.', False), ('There it is 0.52.', False),  # another part
    ('It was 314.', True),  # the opening
    ('In 1943 it was found.', True), ('The 1943 of them.', False), ('See {cite}`a`, who has 0.99.', False), ('The mean is 0.75, as in {cite}`a`.', False),
    ('This is in section 2.5.', True), (r'It is $1/\sqrt{1797} \approx 0.0236$.', True), (r'It is $1/8 = 0.126$.', False),
    (r'It is $e^{10} \approx 22000$.', True), (r'It is $e^{10} = 22000$.', False),
    ('It is 9.81.', None),
])
def test_what_is_shown(prose, shown):
    page = section(*(prose if cell == 'PROSE' else cell for cell in PAGE))
    found = list(words.unshown(page, {'9.81': 'a constant of nature'}))
    assert found == [(None, '9.81')] if shown is None else [message is None for message, _ in found] == [False] * (not shown)


def test_the_message_says_what_is_near():
    (message, _), = words.unshown(section(*('The mean is 0.745.' if cell == 'PROSE' else cell for cell in PAGE)), {})
    assert message.startswith('chapter/section, cell 4, prose: 0.745 in "The mean is 0.745." is not shown: ')
    assert 'the nearest number of the part is 0.7391, which rounds to 0.739.' in message


def test_the_summary_and_the_opening_speak_of_all():
    ends = ('# Title\n\nFrom 0.1234 to 0.7391, or 0.74, but not 0.52.', *PAGE[1:3], 'The mean is 0.74.', *PAGE[4:-1], 'It is 0.74, not 0.75.')
    assert [one.split('"')[0] for one, _ in words.unshown(section(*ends), {})] == [
        'chapter/section, cell 1, prose: 0.52 in ', 'chapter/section, cell 13, prose: 0.75 in ']


def test_the_code_of_a_figure_counts_under_it_alone():
    page = ('# T', '## One', 'At 0.37.', ('x = 0.37 + 0', 'y', 'The curve at 0.38.'), 'Then.', ('z = 1.25', '', 'At 1.25.'))
    assert [one.partition(' in ')[0] for one, _ in words.unshown(section(*page), {})] == [
        'chapter/section, cell 3, prose: 0.37', 'chapter/section, cell 4, caption: 0.38']
