"""The rules of the book. A package, so that its files may have names that those of other folders of tests have, too."""
