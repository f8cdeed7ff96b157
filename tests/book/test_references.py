"""The bibliography: each work has a link that lasts, or a reason why it has none, and is cited."""
import re

import pytest
import yaml

from nbutils.maintain import notebooks

BIB = (notebooks.ROOT / 'book' / 'references.bib').read_text('utf-8')
UNLINKED = yaml.safe_load((notebooks.ROOT / 'tests' / 'book' / 'unlinked.yml').read_text('utf-8'))
WORKS = {key: dict(re.findall(r'^\s*(\w+)\s*=\s*\{(.*)\},?$', entry, re.M))
         for entry in re.split(r'\n(?=@)', BIB) for key in re.findall(r'^@\w+\{([^,]+),', entry)}
FORMS = {'doi': r'10\.\d{4,9}/\S+', 'eprint': r'\d{4}\.\d{4,5}|[a-z-]+(\.[A-Z]{2})?/\d{7}', 'url': r'https?://\S+'}


def test_the_entries_are_read():
    assert len(WORKS) == BIB.count('\n@') > 300


@pytest.mark.parametrize('field', FORMS)
def test_links_have_their_form(field):
    """A DOI and an arXiv number are bare: the style makes the address."""
    assert not [key for key, work in WORKS.items() if field in work and not re.fullmatch(FORMS[field], work[field])]


def test_each_work_has_a_link_or_a_reason():
    without = {key for key, work in WORKS.items() if not FORMS.keys() & work.keys()}
    assert without == UNLINKED.keys(), f'give a doi, eprint or url, or the reason in unlinked.yml: {without ^ UNLINKED.keys()}'


def test_no_two_works_have_one_link():
    links = [work[field] for work in WORKS.values() for field in FORMS if field in work]
    assert sorted({link for link in links if links.count(link) > 1}) == []


def test_each_work_is_cited():
    pages = [*notebooks.ROOT.glob('book/*.md'), *notebooks.ROOT.glob('book/*.yml'), *notebooks.ROOT.glob('notebooks/*/*.py')]
    cited = set(re.findall(r'\w+', '\n'.join(' '.join(re.findall(r'\{cite[^}]*\}`([^`]*)`', path.read_text('utf-8'))) for path in pages)))
    assert sorted(WORKS.keys() - cited) == []
