"""What a page is made of: template, scripts, fonts, formulas, pictures, outputs, code, repairs of what others write."""
from pathlib import Path

from sphinx.application import Sphinx

from . import folded_code, formulas, highlight, outputs, page_scripts, pictures, repairs, svg_figures

TEMPLATES = Path(__file__).parent / 'templates'


def setup(app: Sphinx) -> None:
    app.connect('config-inited', _use_our_templates, priority=100)
    app.add_transform(pictures.Addresses)
    app.connect('doctree-read', folded_code.name)
    app.connect('html-page-context', svg_figures.put_in, priority=940)
    app.connect('html-page-context', outputs.keep_columns, priority=940)
    app.connect('html-page-context', page_scripts.name_buttons, priority=900)
    app.connect('html-page-context', page_scripts.clean, priority=950)
    app.connect('html-page-context', repairs.repair, priority=950)
    app.add_lexer('ipython3', highlight.LeanPython)
    app.add_lexer('python', highlight.LeanPython)
    formulas.setup(app)


def _use_our_templates(app, config):
    config.templates_path.insert(0, str(TEMPLATES))  # before those of the theme
