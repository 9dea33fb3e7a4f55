"""Complete the package's metadata when it is built: its addresses, and a README whose links work on a package index."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)(\[[^\]]*\]\()(?!https?:|#)([^)]+)\)")  # a relative one; images begin with an exclamation mark


class AddressesFromConfig(MetadataHookInterface):
    """Make every address from the one in ``_config.yml``; files are linked as they are in the release."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the README and the URLs."""
        root = Path(self.root)
        address = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"].rstrip("/")
        owner, name = urlsplit(address).path.strip("/").split("/")
        release = f"v{metadata['version']}"

        def make_absolute(link: re.Match[str]) -> str:
            kind = "raw" if link[1] else "blob"
            return f"{link[1]}{link[2]}{address}/{kind}/{release}/{link[3]})"

        text = LINK.sub(make_absolute, (root / "README.md").read_text(encoding="utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = {
            "Homepage": address,
            "Documentation": f"https://{owner.lower()}.github.io/{name}/",
            "Changelog": f"{address}/blob/{release}/CHANGELOG.md",
            "Issues": f"{address}/issues",
        }
