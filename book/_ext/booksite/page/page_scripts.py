"""What a page loads: nothing from another host, nothing unused. And the words on the launch buttons."""
from docutils import nodes
from sphinx.application import Sphinx

LATE = ('mystnb.', 'exercise.css', 'proof.css')
_FONT = '_static/fonts/source-serif-4-latin-wght-normal.woff2'
_ITALIC = _FONT.replace('normal', 'italic')
_MATH_FONT = '_static/mathjax/output/chtml/fonts/woff-v2/MathJax_'
_LAUNCH = {  # the theme's name -> what the button says
    'Binder': 'JupyterLab on Binder',
    'Colab': 'Colab',
}
_VIEWPORT = '<meta name="viewport" content="width=device-width, initial-scale=1" />'  # of docutils; the theme has its own
_DOWNLOAD = {'.ipynb': 'Notebook (.ipynb)', '.md': 'Source (.md)', '.pdf': 'Print or PDF'}


def clean(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Let the scripts wait for the text; drop MathJax where formulas are set by the build."""
    scripts = context.get('script_files', ())
    if app.booksite_node:
        scripts = [script for script in scripts if 'mathjax/' not in _name(script)]
    context['script_files'] = [_deferred(script) for script in scripts]
    context['css_files'] = _styles(context.get('css_files', ()))
    context['font_files'] = fonts(context.get('body') or '')
    context['metatags'] = (context.get('metatags') or '').replace(_VIEWPORT, '')


def name_buttons(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Say on each button what it opens."""
    for group in context.get('header_buttons', ()):
        for button in group.get('buttons', ()):
            if button.get('text') in _LAUNCH:
                button['text'] = _LAUNCH[button['text']]
                button['tooltip'] = f'Open this notebook in {button["text"]}'
            elif group.get('label') == 'download-buttons':
                button['text'] = _DOWNLOAD.get(button['text'], button['text'])


def fonts(body: str) -> list[str]:
    """The fonts that the first screen of a page with this text needs, to be fetched before the style asks for them."""
    text = [_FONT, _ITALIC] if '<em>' in body else [_FONT]
    if 'class="math ' not in body:
        return text
    bold = ['Main-Bold'] if '\\mathbf' in body else []
    return [*text, *(f'{_MATH_FONT}{name}.woff' for name in ['Zero', 'Main-Regular', 'Math-Italic', *bold])]


def _styles(styles):
    """The style sheets in their order. Those that come too late for Sphinx' check sum (?v=) never have one."""
    ordered = sorted(styles, key=lambda style: style.priority)
    return [_name(style) if style.filename.removeprefix('_static/').startswith(LATE) else style for style in ordered]


def _name(script):
    return str(getattr(script, 'filename', None) or '')


def _deferred(script):
    """The script with `defer`, except where scripts in the page need it before the text is there."""
    if not _name(script) or 'documentation_options' in _name(script) or {'async', 'defer'} & set(script.attributes):
        return script
    return type(script)(script.filename, priority=script.priority, **script.attributes, defer='defer')
