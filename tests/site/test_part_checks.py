"""The checks of a part: one closed line; marks at the statements lead to the list behind it, and back."""
import re

from conftest import without_scripts

PAGE = 'notebooks/attention/scaled_dot_product_attention'


def test_every_checking_cell_lies_behind_the_line_of_its_part(parsed):
    article = parsed(PAGE).article
    cells = article.select('div.cell.tag_checks')
    assert cells and all(cell.find_parent('details', class_='part-checks') for cell in cells)
    assert all(cell.find_parent('details', class_='part-checks-code') for cell in cells)
    parts = article.select('section section')
    assert all(len(part.select('details.part-checks')) <= 1 for part in parts if not part.find_parent('section').find_parent('section'))
    assert not article.select('details.part-checks[open]')
    assert '@title' not in article.get_text()


def test_the_line_counts_what_is_behind_it(parsed):
    for details in parsed(PAGE).select('details.part-checks'):
        said = int(re.match(r'(\d+) statements? of this part', details.summary.get_text())[1])
        assert said == len(details.select('ul.checks > li:not(.check-corrected)'))


def test_marks_lead_to_lines_and_lines_back(parsed):
    article = parsed(PAGE).article
    marks = article.select('a.check-badge')
    assert any(mark.find_parent('p') for mark in marks) and any(mark.find_parent('div', class_='math') for mark in marks)
    for mark in marks:
        line = article.find(id=mark['href'][1:])
        assert line.name == 'li' and line.find_parent('details', class_='part-checks')
        back = article.find(id=line.select_one('a.check-back')['href'][1:])
        assert mark in back.find_all('a')


def test_a_link_opens_the_list_without_a_script(page, address):
    without_scripts(page).goto(f'{address}{PAGE}.html#check-la.attention.scale')
    assert page.locator('[id="check-la.attention.scale"]').is_visible()
