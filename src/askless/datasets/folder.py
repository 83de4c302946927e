"""Where the data sets lie on this machine."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "ASKLESS_DATA"


def data_folder(data_dir: Path | None = None) -> Path:
    """The folder given, or the one that ASKLESS_DATA names, or askless's own place among the user's data."""
    if data_dir is not None:
        return data_dir
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    from platformdirs import user_data_path

    return user_data_path("askless", appauthor=False) / "datasets"
