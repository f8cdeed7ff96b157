"""A build that reads and writes pages on all processors, which jupyter-book itself does not offer."""
import os

from sphinx_proof.domain import ProofDomain

PROCESSES = 4  # on two processors, too: smaller parts keep both at work; more than four save nothing


def use(app):
    """Have Sphinx work in parallel, if every extension can: its own warning of one that cannot would stop a strict build."""
    app.connect('config-inited', _start, priority=1)


def _start(app, config):
    # two that parallel work does not harm do not say so
    app.extensions['sphinx_multitoc_numbering'].parallel_read_safe = True  # it numbers when all pages have been read
    ProofDomain.merge_domaindata = lambda domain, pages, other: None  # it keeps its proofs outside of its domain
    safe = all(known.parallel_read_safe and known.parallel_write_safe for known in app.extensions.values())
    app.parallel = PROCESSES if safe and (os.cpu_count() or 1) > 1 else 1
