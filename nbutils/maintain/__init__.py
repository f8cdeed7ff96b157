"""What maintainers run: recording notebooks and comparing outputs. No notebook imports it."""
