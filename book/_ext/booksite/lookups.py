"""What other packages look up or compute again for every page, word and citation, kept for the length of a build."""
import functools
import gc

import pybtex.plugin
import pybtex.richtext
from sphinx.search.en import SearchEnglish


def keep():
    """Remember plugins of pybtex (it reads the metadata of all installed packages each time), texts, stems of words."""
    pybtex.plugin._load_entry_point = functools.cache(pybtex.plugin._load_entry_point)
    pybtex.richtext.Text.from_latex = functools.cache(pybtex.richtext.Text.from_latex)  # the same for every style
    SearchEnglish.stem = functools.cache(SearchEnglish.stem)
    # A build makes millions of nodes that live on; looking through them for garbage all the time took a tenth of a cold
    # build and a quarter of an incremental one. Looking seldom costs 40 MB.
    gc.set_threshold(100_000, 50, 100)
