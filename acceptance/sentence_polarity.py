"""Sentences of reviews with their labels, for the programs beside this file."""

import zipfile
from pathlib import Path


def labeled_sentences(folder):
    """Pairs of the words of a sentence and 0 (bad) or 1 (good)."""
    texts = []
    with zipfile.ZipFile(Path(folder) / "sentiment/sentence_polarity.zip") as archive:
        for label, name in enumerate(("neg", "pos")):
            lines = archive.read(f"sentence_polarity/rt-polarity.{name}").decode("latin-1")
            texts += [(line.split(), label) for line in lines.splitlines()]
    return texts
