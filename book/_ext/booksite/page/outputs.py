"""What a cell printed in columns: on a phone it keeps them, and smaller letters where that is enough to show all of them.

It is said in the page and not found out by a script, after which the text below would move.
"""
import html
import re

_PRINTED = re.compile(r'(<div class="output [^"]*"><div class="highlight"><pre)>(.*?)</pre>', re.S)
_MARK = re.compile(r'<[^>]*>')
_COLUMNS = re.compile(r'\S {2,}\S')
SMALLER = 54  # letters: lines that are wider scroll, in letters of the usual size


def keep_columns(app, page, template, context, doctree):
    """Mark the outputs in the body of a page that are set in columns; a handler of html-page-context."""
    if body := context.get('body'):
        context['body'] = _PRINTED.sub(_marked, body)


def _marked(found):
    text = html.unescape(_MARK.sub('', found[2]))
    if not _COLUMNS.search(text):
        return found[0]
    letters = max(map(len, text.splitlines()))
    width = f' style="--letters: {letters}"' if letters <= SMALLER else ''  # book.css makes them as small as they need be
    return f'{found[1]} class="columns"{width}>{found[2]}</pre>'
