"""What a page loads: nothing from another host, nothing twice, nothing unused. And the words on the launch buttons."""
import re

_THEBE = re.compile(
    r'\s*<script type="text/x-thebe-config">.*?</script>\s*(<script>kernelName = [^<]*</script>)?', re.S,
)
_MODE = re.compile(r'(document\.documentElement\.dataset\.theme = [^;]*;)')
_FONT = '_static/fonts/source-serif-4-latin-wght-normal.woff2'
_MATH_FONT = '_static/mathjax/output/chtml/fonts/woff-v2/MathJax_'
_ICONS = re.compile(r'<script[^>]*/fontawesome\.js[^>]*></script>')
_STOCK_SEARCH = re.compile(r'\s*<script[^>]*/?(?:searchtools|language_data|searchindex)\.js[^>]*></script>')
_LAUNCH = {  # the theme's name -> what the button says
    'Binder': 'JupyterLab on Binder',
    'Colab': 'Colab',
}
_DOWNLOAD = {'.ipynb': 'Notebook (.ipynb)', '.md': 'Source (.md)', '.pdf': 'Print or PDF'}


def drop_live_files(app):
    """Do not copy the files of the live-code extension, which jupyter-book always loads (`make live` has its own)."""
    app.config.html_static_path = [path for path in app.config.html_static_path if 'sphinx_thebe' not in path]


def clean(app, page, template, context, doctree):
    """Drop what the live-code extension adds to every page, though it is off; let the other scripts wait for the text."""
    scripts = _once(context.get('script_files', ()))
    if not any('mathjax/' in _name(script) for script in scripts):  # a page without formulas
        scripts = [script for script in scripts if 'math.js' not in _name(script)]
    context['script_files'] = [_deferred(script) for script in scripts]
    context['css_files'] = [style for style in context.get('css_files', ()) if 'thebe' not in str(style)]
    context['font_files'] = fonts(context.get('body') or '')
    if body := context.get('body'):
        context['body'] = _THEBE.sub('', body)


def name_buttons(app, page, template, context, doctree):
    """Say on each button what it opens."""
    for group in context.get('header_buttons', ()):
        for button in group.get('buttons', ()):
            if button.get('text') in _LAUNCH:
                button['text'] = _LAUNCH[button['text']]
                button['tooltip'] = f'Open this notebook in {button["text"]}'
            elif group.get('label') == 'download-buttons':
                button['text'] = _DOWNLOAD.get(button['text'], button['text'])


def fonts(body):
    """The fonts that the first screen of a page with this text needs, to be fetched before the style asks for them."""
    if 'class="math ' not in body:
        return [_FONT]
    bold = ['Main-Bold'] if '\\mathbf' in body else []
    return [_FONT, *(f'{_MATH_FONT}{name}.woff' for name in ['Main-Regular', 'Math-Italic', *bold])]


def without_icon_script(html):
    """A filter for templates/layout.html."""
    return _ICONS.sub('', html)


def without_stock_search(html):
    """A filter for templates/layout.html: the theme loads the stock search, with its index, on every page."""
    return _STOCK_SEARCH.sub('', html)


def with_colours_at_once(html):
    """A filter for templates/layout.html: light or dark is known before the first painting, not after the last script."""
    return _MODE.sub(r"\1 if (document.documentElement.dataset.theme === 'auto') document.documentElement.dataset.theme ="
                     r" matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';", html, count=1)


def add_filter(app):
    """Make the filters known to the templates."""
    if app.builder.format == 'html':
        for made in (without_icon_script, with_colours_at_once, without_stock_search):
            app.builder.templates.environment.filters[made.__name__] = made


def _name(script):
    return str(getattr(script, 'filename', None) or '')


def _deferred(script):
    """The script with `defer`, except where scripts in the page need it before the text is there."""
    if not _name(script) or 'documentation_options' in _name(script) or {'async', 'defer'} & set(script.attributes):
        return script
    return type(script)(script.filename, priority=script.priority, **script.attributes, defer='defer')


def _once(scripts):
    kept, seen = [], set()
    for script in scripts:
        key = (str(getattr(script, 'filename', script)), getattr(script, 'attributes', {}).get('body'))
        if key not in seen and 'thebe' not in f'{key}'.lower():
            kept.append(script)
        seen.add(key)
    return kept
