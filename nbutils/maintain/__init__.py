"""What maintainers run: recording notebooks and comparing outputs. No notebook imports it."""
import sys

# An optional part of jsonschema, which nbformat imports: it would build grammars that nobody uses, 1.5 s in each process.
sys.modules.setdefault('rfc3987_syntax', None)
