"""What other packages compute again for every page, word and citation, or at every build, kept until it changes."""
import copy
import functools
import gc

import pybtex.plugin
import pybtex.richtext
import pybtex.style.formatting
from docutils import nodes
from sphinx.environment.collectors.toctree import TocTreeCollector
from sphinx.search.en import SearchEnglish
from sphinxcontrib.bibtex.domain import BibtexDomain


def keep(app):
    """Remember plugins of pybtex (it reads the metadata of all installed packages each time), texts, stems of words."""
    pybtex.plugin._load_entry_point = functools.cache(pybtex.plugin._load_entry_point)
    pybtex.style.formatting.BaseStyle.format_entry = _once(pybtex.style.formatting.BaseStyle.format_entry)
    pybtex.richtext.Text.from_latex = functools.cache(pybtex.richtext.Text.from_latex)  # the same for every style
    SearchEnglish.stem = functools.cache(SearchEnglish.stem)
    nodes.Node.findall = _flat(nodes.Node.findall)
    # A build makes millions of nodes that live on. Looking through them for garbage took a tenth of a cold build, a quarter
    # of an incremental one, and three seconds at the end; not looking costs 40 MB.
    gc.disable()
    app.connect('build-finished', lambda app, error: gc.freeze(), priority=999)
    _keep_numbers(app)
    _keep_citations()
    app.connect('doctree-read', _keep_titles, priority=900)


def _once(format_entry):
    """A work is formatted for the bibliography and again, in the same way, for the tooltips of its citations."""
    made = {}

    def formatted(style, label, entry, bib_data=None):
        key = style, label, entry.key
        if key not in made:
            made[key] = format_entry(style, label, entry, bib_data)
        return made[key]

    return formatted


def _flat(findall):
    """Docutils goes through a tree with a generator inside a generator at each level: Sphinx does that 80 times a page."""
    def found(node, condition=None, include_self=True, descend=True, siblings=False, ascend=False):
        if not include_self or not descend or siblings or ascend:
            return findall(node, condition, include_self, descend, siblings, ascend)
        if isinstance(condition, type):
            return _all_of(node, condition)
        return filter(condition, _all_of(node, nodes.Node))

    return found


def _all_of(top, kind):
    """The nodes of a class, in the order of the tree; what is put below a node that was found is found, too."""
    if isinstance(top, kind):
        yield top
    levels = [iter(top.children)]
    while levels:
        for node in levels[-1]:
            if isinstance(node, kind):
                yield node
            if node.children:
                levels.append(iter(node.children))
                break
        else:
            levels.pop()


def _keep_numbers(app):
    """Number figures and formulas anew only where one has come or gone: for that Sphinx reads all pages from the disk."""
    assign = TocTreeCollector.assign_figure_numbers

    def note(app, doctree):
        kinds = [domain.get_enumerable_node_type for domain in _numbering(app.env.domains).values()]
        _kept(app.env, 'numbered')[app.env.docname] = [
            (node['ids'], found) for node in doctree.findall(nodes.Element)
            if any(found := [kind(node) for kind in kinds]) or isinstance(node, nodes.section)]

    def forget(app, env, page):
        _kept(env, 'numbered').pop(page, None)

    def merge(app, env, pages, other):
        _kept(env, 'numbered').update(_kept(other, 'numbered'))

    def numbers(collector, env):
        depends = _kept(env, 'numbered'), env.toc_secnumbers, env.toctree_includes
        kept = _kept(env, 'numbers')
        if kept.get('depends') == depends:
            env.toc_fignumbers = copy.deepcopy(kept['numbers'])
            return []
        domains, env.domains = env.domains, _numbering(env.domains)
        try:
            pages = assign(collector, env)
        finally:
            env.domains = domains
        kept.update(copy.deepcopy({'depends': depends, 'numbers': env.toc_fignumbers}))
        return pages

    app.connect('doctree-read', note)
    app.connect('env-purge-doc', forget)
    app.connect('env-merge-info', merge)
    TocTreeCollector.assign_figure_numbers = numbers


def _numbering(domains):
    """The domains with something to number: Sphinx asks each of them about every node of the book."""
    return {name: domain for name, domain in domains.items() if domain.enumerable_nodes}


def _keep_citations():
    """Format the bibliography anew only where a work or a citation has come, changed or gone."""
    update = BibtexDomain.env_updated

    def updated(domain):
        places = {place: {key: node['ids'] for key, node in listed.citation_nodes.items()}
                  for place, listed in domain.bibliographies.items()}
        works = {(ref.docname, target.key) for ref in domain.citation_refs for target in ref.targets}
        depends = places, works, domain.bibdata.bibfiles, domain.env.toctree_includes
        kept = _kept(domain.env, 'citations')
        if kept.get('depends') == depends:
            domain.citations[:] = kept['citations']
            return []
        pages = update(domain)
        kept.update(depends=copy.deepcopy(depends), citations=[*domain.citations])
        return pages

    BibtexDomain.env_updated = updated


def _keep_titles(app, doctree):
    """Keep of each exercise its title alone: sphinx-exercise would save the whole page with it, for each build to read."""
    for exercise in getattr(app.env, 'sphinx_exercise_registry', {}).values():
        if exercise['docname'] == app.env.docname:
            kept = exercise['node'].copy()
            kept += [child.deepcopy() for child in exercise['node'].children[:1]]
            for node in kept.findall():
                node.document = None
            exercise['node'] = kept


def _kept(env, name):
    """A dictionary that lives as long as the environment of Sphinx."""
    if not hasattr(env, f'booksite_{name}'):
        setattr(env, f'booksite_{name}', {})
    return getattr(env, f'booksite_{name}')
