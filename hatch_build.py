"""What the wheel holds beside the package: the displayed formulas, which lie in the notebooks that it does not hold."""
import importlib.util
import json
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class FormulasHook(BuildHookInterface):
    """Adds `nbutils/formulas.json`, made from the pages, to the wheel."""

    def initialize(self, version, build_data):
        if version == 'editable':  # a checkout has its pages
            return
        file = Path(self.root, 'nbutils', 'printed', 'displays.py')
        spec = importlib.util.spec_from_file_location('displays', file)
        displays = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(displays)
        with tempfile.NamedTemporaryFile('w', suffix='.json', encoding='utf-8', delete=False) as packed:
            json.dump(displays.displays(), packed, ensure_ascii=False)
        self.packed = packed.name
        build_data['force_include'][packed.name] = 'nbutils/formulas.json'

    def finalize(self, version, build_data, artifact_path):
        if packed := getattr(self, 'packed', None):
            Path(packed).unlink()
