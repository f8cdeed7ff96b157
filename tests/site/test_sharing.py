"""What others see of a page: links with title, description and picture; addresses that keep working."""
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import pytest
from booksite.publish import repository
from bs4 import BeautifulSoup
from conftest import ROOT
from test_pages import OTHERS, PAGES
from test_reading import CONFIG

from nbutils.maintain import bundle

BASE = repository.site(repository.address(CONFIG['repository']['url'], repository.remote(ROOT)))
WRITTEN = [name for name in PAGES if name not in OTHERS]


@pytest.fixture(scope='module')
def heads(site):
    """Page -> the names and contents of the tags in its head."""
    found = {}
    for name in WRITTEN:
        soup = BeautifulSoup((site / name).read_text('utf-8').split('</head>')[0], 'html.parser')
        tags = {tag.get('property') or tag.get('name'): tag.get('content') for tag in soup.find_all('meta')}
        found[name] = tags | {'canonical': soup.find('link', rel='canonical')['href']}
    return found


def test_each_page_has_one_address(heads):
    for name, head in heads.items():
        assert head['canonical'] == head['og:url'] == BASE + name


def test_each_page_has_a_title_and_a_description_without_tex(heads):
    assert heads['notebooks/linear_algebra/norms.html']['og:title'] == 'Norms'
    for name, head in heads.items():
        assert 40 < len(head['og:description']) <= 200 or name == 'book/bibliography.html', (name, head['og:description'])
        assert not set('\\${}') & set(head['og:title'] + head['og:description']), name
        assert name == 'book/bibliography.html' or head['description'] == head['og:description']
    assert heads['notebooks/linear_algebra/norms.html']['og:description'].startswith('How long is a vector')


def test_each_page_has_a_picture_that_exists(heads, site):
    for name, head in heads.items():
        assert head['og:image'].startswith(BASE) and (site / head['og:image'].removeprefix(BASE)).is_file(), name
        assert int(head['og:image:width']) > int(head['og:image:height']) > 100 and head['og:image:alt']
        assert not name.startswith('notebooks/') or '/_images/' in head['og:image'], f'{name} has figures of its own'
    assert heads['book/index.html']['twitter:card'] == 'summary_large_image'


def test_the_sitemap_lists_the_pages(site):
    places = ElementTree.parse(site / 'sitemap.xml').getroot().iter('{http://www.sitemaps.org/schemas/sitemap/0.9}loc')
    assert sorted(place.text for place in places) == sorted(BASE + name for name in WRITTEN)


def test_the_page_of_lost_readers_needs_no_script(site):
    page = BeautifulSoup((site / '404.html').read_text('utf-8'), 'html.parser')
    assert page.find('form', action='search.html') and page.noscript.base['href'].startswith('/')
    links = {link['href'] for link in page.find_all('a')}
    assert {name for name in WRITTEN if name.startswith('book/')} & links and all((site / link).is_file() for link in links)


def test_redirects_lead_to_pages(site):
    """That no page goes without one is tried in test_bad_builds; here the list must not have been thrown away."""
    for old, new in CONFIG['sphinx']['config']['rediraffe_redirects'].items():
        assert (site / new).with_suffix('.html').is_file() and (site / old).with_suffix('.html').is_file()
    assert len((ROOT / 'book' / 'addresses.txt').read_text().split()) >= 51


@pytest.mark.parametrize('url, environ, site', [
    ('https://github.com/Me/fork', {}, 'https://me.github.io/fork/'),
    ('https://github.com/me/me.github.io', {}, 'https://me.github.io/'),
    ('https://gitlab.com/me/fork', {}, 'https://me.gitlab.io/fork/'),
    ('https://example.org/book', {}, ''),
    ('https://gitlab.com/me/Me.gitlab.io', {}, 'https://me.gitlab.io/'),
    ('https://github.com/me/fork', {'BOOK_SITE_URL': 'https://book.example.org'}, 'https://book.example.org/'),
    ('https://github.com/me/me.github.io', {'BOOK_SITE_URL': 'https://me.org/book/'}, 'https://me.org/book/'),
])
def test_the_address_of_the_site_follows_that_of_the_repository(url, environ, site):
    assert repository.site(url, environ) == site


def test_a_published_file_is_linked_to_at_the_address_of_the_site():
    env = SimpleNamespace(config=SimpleNamespace(html_baseurl='https://me.github.io/'))
    inliner = SimpleNamespace(document=SimpleNamespace(settings=SimpleNamespace(env=env)))
    [link], _ = repository.PublishedFile()('published', '', f'the PDF <{bundle.PDF}>', 1, inliner)
    assert link['refuri'] == 'https://me.github.io/deep-learning-verified.pdf' and link.astext() == 'the PDF'


def test_a_useless_address_of_the_site_is_refused():
    with pytest.raises(ValueError, match='BOOK_SITE_URL=book: expected an address such as'):
        repository.site('', {'BOOK_SITE_URL': 'book'})
