"""The repository's address is one setting."""

import json
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]
OWNER_AND_NAME = "/".join(SETTINGS["url"].split("/")[-2:])


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_file_but_config_holds_the_address():
    """Generated notebooks hold copies that are made from it, and are looked at below."""
    holders = [
        path.relative_to(ROOT).as_posix()
        for path in tracked()
        if path.suffix != ".ipynb" and OWNER_AND_NAME.encode() in path.read_bytes()
    ]
    assert holders == ["_config.yml"]


def test_every_notebook_offers_colab_its_own_address():
    """The badge opens the very file that it stands in."""
    notebooks = tracked("*.ipynb")
    assert notebooks
    for path in notebooks:
        own = f"/github/{OWNER_AND_NAME}/blob/{SETTINGS['branch']}/{path.relative_to(ROOT).as_posix()}"
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert any(own in "".join(cell["source"]) for cell in cells if cell["id"] == "open-in-colab"), path


def test_no_notebook_holds_another_address():
    """All addresses on the repository's host are the one in _config.yml."""
    host = SETTINGS["url"].split("/")[2]
    for path in tracked("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            assert source.count(f"https://{host}/") == source.count(SETTINGS["url"]), path
