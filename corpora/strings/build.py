"""Writes the files of the corpus and their manifest from the recipes: `python -m draftproof.corpora.strings.build`.

Idea: the recipes list characters, and standard properties of long-assigned characters never change (Unicode's stability
policies), so every Python writes the same bytes. A test holds that.
"""

import hashlib
import json
from pathlib import Path

from . import recipe_bytes, recipe_case, recipe_forms, recipe_text, recipe_white
from .rows import Recipe, identifier

__all__ = ["RECIPES", "contents"]

RECIPES: dict[str, Recipe] = {
    **recipe_forms.RECIPES,
    **recipe_case.RECIPES,
    **recipe_white.RECIPES,
    **recipe_text.RECIPES,
    **recipe_bytes.RECIPES,
}
"""Every theme, in the order of the manifest."""


def contents() -> dict[str, bytes]:
    """The bytes of every generated file by its name, `manifest.json` last. All are ASCII."""
    files: dict[str, bytes] = {}
    themes = {}
    for theme, recipe in RECIPES.items():
        lines = [json.dumps({"id": identifier(theme, row), **row}) + "\n" for row in recipe.rows]
        data = "".join(lines).encode("ascii")
        files[f"{theme}.jsonl"] = data
        themes[theme] = {
            "file": f"{theme}.jsonl",
            "sha256": hashlib.sha256(data).hexdigest(),
            "records": len(lines),
            "domain": recipe.domain,
            "provenance": recipe.provenance,
        }
    files["manifest.json"] = (json.dumps({"themes": themes}, indent=2) + "\n").encode("ascii")
    return files


def main() -> None:
    """Write every file beside this module."""
    for name, data in contents().items():
        (Path(__file__).resolve().parent / name).write_bytes(data)


if __name__ == "__main__":
    main()
