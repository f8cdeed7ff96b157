"""Names for what the theme leaves nameless, or names twice: what a screen reader or voice control would stumble over."""
import re

_TOGGLE = re.compile(r'>([^<>]+)</a>(\s*<details[^>]*>\s*<summary)>')


def name_toggles(app, page, template, context, doctree):
    """Each arrow of the table of contents gets a name; 'Show source' is not overruled by a second one."""
    if body := context.get('body'):
        context['body'] = body.replace('<summary aria-label="Toggle hidden content">', '<summary>')
    if tree := context.get('generate_toctree_html'):
        context['generate_toctree_html'] = lambda *args, **options: _named(tree(*args, **options))


def _named(html):
    return _TOGGLE.sub(r'>\1</a>\2 aria-label="Sections of \1">', str(html)) if html else html
