"""Writes files whole or not at all."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any


def write_whole(path: Path, text: str) -> None:
    """Writes to a temporary file beside `path` and renames it, so that a reader never sees half a file.

    Raises OSError where the folder cannot be made or written to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_both(folder: Path, name: str, document: dict[str, Any], text: str) -> None:
    """Writes name.json and name.md into `folder`. Raises OSError.

    Both are made before either is written: a fault in one must not leave the other beside an older one.
    """
    data = json.dumps(document, indent=2) + "\n"
    write_whole(folder / f"{name}.json", data)
    write_whole(folder / f"{name}.md", text)
