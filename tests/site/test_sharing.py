"""What others see of a page: links with title, description and picture; addresses that keep working."""
import subprocess
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import pytest
from booksite.publish import repository
from bs4 import BeautifulSoup
from conftest import ROOT
from test_pages import OTHERS, PAGES
from test_reading import ADDRESSES, CONFIG

from nbutils.maintain import bundle

BASE = ADDRESSES.site
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
    assert heads['notebooks/linear_algebra/norms.html']['og:description'].startswith('A courier must deliver a parcel')


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


OURS, NONE = ('https://github.com/o/book', 'main', 'https://o.github.io/book/'), ''
FORK = ('https://github.com/me/fork', 'main', 'https://me.github.io/fork/')


@pytest.mark.parametrize('remote, environ, found', [
    (NONE, {}, OURS), ('/srv/git/book.git', {}, OURS), ('https://example.org/me/fork', {}, OURS),
    ('https://github.com/me/fork', {}, FORK), ('https://github.com/me/fork.git', {}, FORK), ('https://github.com/me/fork/', {}, FORK),
    ('git@github.com:me/fork.git', {}, FORK), ('ssh://git@github.com/me/fork', {}, FORK),
    ('https://user:token@github.com/me/fork.git', {}, FORK), (NONE, {'BOOK_REPO_URL': 'git@github.com:me/fork'}, FORK),
    ('https://gitlab.com/me/dl.book', {}, ('https://gitlab.com/me/dl.book', 'main', 'https://me.gitlab.io/dl.book/')),
    ('https://github.com/me/Me.github.io', {}, ('https://github.com/me/Me.github.io', 'main', 'https://me.github.io/')),
    ('git@github.com:you/book', {'BOOK_REPO_URL': 'https://github.com/me/fork', 'BOOK_BRANCH': 'draft'}, (FORK[0], 'draft', FORK[2])),
    (NONE, {'BOOK_SITE_URL': 'https://me.org/book'}, (*OURS[:2], 'https://me.org/book/')),
])
def test_addresses_are_those_of_variables_else_of_the_remote_else_of_the_configuration(tmp_path, monkeypatch, remote, environ, found):
    for name, value in ({'BOOK_REPO_URL': '', 'BOOK_BRANCH': '', 'BOOK_SITE_URL': ''} | environ).items():
        monkeypatch.setenv(name, value)
    if remote:
        subprocess.run(['git', 'init', '-q', tmp_path], check=True)
        subprocess.run(['git', '-C', tmp_path, 'remote', 'add', 'origin', remote], check=True)
    options = {'repository_url': OURS[0], 'launch_buttons': {'colab_url': 'colab', 'binderhub_url': 'binder'}}
    config = SimpleNamespace(html_theme_options=options)
    repository.configure(SimpleNamespace(confdir=tmp_path), config)
    assert (options['repository_url'], options['repository_branch'], config.html_baseurl) == found
    assert options['launch_buttons'] == {'colab_url': 'colab' * ('github' in found[0]), 'binderhub_url': 'binder'}


@pytest.mark.parametrize('name', ['BOOK_REPO_URL', 'BOOK_SITE_URL'])
def test_a_useless_variable_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setenv(name, 'book')
    with pytest.raises(ValueError, match=f'{name}=book: expected an address such as'):
        repository.addresses(tmp_path, *OURS[:2])


def test_a_published_file_is_linked_to_at_the_address_of_the_site():
    env = SimpleNamespace(config=SimpleNamespace(html_baseurl='https://me.github.io/'))
    inliner = SimpleNamespace(document=SimpleNamespace(settings=SimpleNamespace(env=env)))
    [link], _ = repository.PublishedFile()('published', '', f'the PDF <{bundle.PDF}>', 1, inliner)
    assert link['refuri'] == 'https://me.github.io/deep-learning-verified.pdf' and link.astext() == 'the PDF'
