"""Captions are cells below their figures for who opens a notebook, and captions of the figures on a page."""
import jupytext
import nbformat
import pytest

from nbutils.maintain import budget, notebooks, sections

SECTION = r'''# %% [markdown]
# # Title
#
# Three words here.

# %% mystnb={"image": {"alt": "A line that rises"}} tags=["hide-input"]
draw();

# %% [markdown] tags=["caption"]
# The unit ball of $\ell_1$ has corners,
# that of $\ell_2$ has none.
'''


@pytest.fixture
def section(tmp_path):
    path = tmp_path / 'chapter' / 'section.py'
    path.parent.mkdir()
    path.write_text(SECTION, 'utf-8')
    return path


def test_a_caption_cell_is_the_caption_of_the_figure_above_and_no_cell_of_the_page(section):
    _, figure, caption = notebooks.read(section).cells
    assert figure.metadata['mystnb'] == {
        'image': {'alt': 'A line that rises'},
        'figure': {'caption': r'The unit ball of $\ell_1$ has corners, that of $\ell_2$ has none.'},
    }
    assert caption.metadata['tags'] == ['caption', 'remove-cell']


def test_saving_in_jupyterlab_changes_nothing(section):
    # the derived metadata enter the .py, and what is read from it is the same
    read = notebooks.read(section)
    section.write_text(jupytext.writes(nbformat.from_dict(read), 'py:percent'), 'utf-8')
    assert notebooks.cells_of(notebooks.read(section)) == notebooks.cells_of(read)


def test_a_caption_without_a_figure_above_stays_a_cell(section):
    section.write_text(SECTION.replace('draw();\n\n', 'draw();\n\n# %% [markdown]\n# A remark.\n\n'), 'utf-8')
    *_, figure, remark, caption = notebooks.read(section).cells
    assert 'figure' not in figure.metadata['mystnb'] and notebooks.is_prose(remark) and notebooks.is_caption(caption)


def test_captions_are_no_prose_of_the_section(section):
    assert budget.measure(sections.Section(section)).words == 4


def test_a_part_begins_at_its_heading_or_at_the_anchor_above():
    cells = notebooks.parsed('# %% [markdown]\n# # Title\n\n# %%\n1\n\n# %% [markdown]\n# ## One\n\n# %%\n1\n\n# %% [markdown]\n# (two)=\n# ## Two\n').cells
    assert notebooks.parts(cells) == [0, 0, 1, 1, 2]


def test_what_is_kept_is_what_jupytext_reads(section, tmp_path, monkeypatch):
    """A file is read once as long as its text stays; a changed text is read anew, and the old one is forgotten."""
    monkeypatch.setattr(notebooks, 'PARSED', tmp_path / 'parsed')
    fresh = notebooks.read(section)
    with monkeypatch.context() as patch:
        patch.setattr(jupytext, 'read', None)
        kept = notebooks.read(section)
    assert kept == fresh and type(kept) is type(fresh)
    section.write_text(SECTION.replace('Three', 'Four'), 'utf-8')
    assert 'Four' in notebooks.read(section).cells[0].source
    assert len(list((tmp_path / 'parsed').iterdir())) == 1


@pytest.mark.parametrize('folder, pattern', [('data', '*.npz'), ('data', '*.gz'), ('weights', '*.safetensors')])
def test_what_a_helper_reads_is_an_input_of_the_notebooks_that_import_it(folder, pattern):
    """Else data and weights that were made anew would leave them unexecuted."""
    files = {str(file.relative_to(notebooks.ROOT)) for file in (notebooks.ROOT / 'nbutils' / folder).glob(pattern)}
    helper = notebooks.ROOT / 'nbutils' / folder / '__init__.py'
    assert files
    for reads in (True, False):
        path = next(path for path in notebooks.sources() if (helper in notebooks.modules(path)) == reads)
        assert files & notebooks.inputs(path).keys() == (files if reads else set()), path


def test_packages_of_other_versions_are_another_input(monkeypatch):
    """What is pinned may not be what is installed: NEWEST=1, another TORCH_INDEX, an environment of one's own."""
    path = notebooks.sources()[0]
    known = {notebooks.name(path): notebooks.inputs(path)}
    assert not notebooks.why(path, known)
    version = notebooks.metadata.version
    monkeypatch.setattr(notebooks.metadata, 'version', lambda name: '9.9' if name == 'torch' else version(name))
    notebooks._installed.cache_clear()
    assert notebooks.why(path, known) == ['installed packages']
    monkeypatch.undo()
    notebooks._installed.cache_clear()
