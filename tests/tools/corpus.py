"""Finds the real inputs that are not in the repository: $VRAMSTOW_CORPUS, or ../shared/corpus
beside it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CORPUS = Path(
    os.environ.get(
        "VRAMSTOW_CORPUS", Path(__file__).resolve().parents[2].parent / "shared" / "corpus"
    )
)


def corpus_file(name: str) -> Path:
    path = CORPUS / name
    if not path.exists():
        pytest.skip(f"the corpus has no {name}: set VRAMSTOW_CORPUS, or lay it beside the tree")
    return path
