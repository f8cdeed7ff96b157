"""What other packages look up or compute again for every page, word and citation, kept for the length of a build."""
import functools

import pybtex.plugin
from sphinx.search.en import SearchEnglish


def keep():
    """Remember plugins of pybtex (it reads the metadata of all installed packages each time) and stems of words."""
    pybtex.plugin._load_entry_point = functools.cache(pybtex.plugin._load_entry_point)
    SearchEnglish.stem = functools.cache(SearchEnglish.stem)
