"""README.md as a package index shows it: nothing lies beside it there.

Links and pictures lead into the repository at the tag of the release. The release workflow names it
in SPARSEPATH_REPOSITORY; without that, pictures are left out and links are their words alone.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

HERE = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:)([^)]*)\)")


def text(readme: str, repository: str, version: str) -> str:
    """The README with every link to a file beside it made good."""

    def good(link: re.Match[str]) -> str:
        picture, words, where = link.groups()
        if not repository:
            return "" if picture else words
        kind = "raw" if picture else "blob"
        return f"{picture}[{words}]({repository}/{kind}/v{version}/{where})"

    return HERE.sub(good, readme)


class Readme(MetadataHookInterface):
    """What hatchling asks when it builds."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in what pyproject.toml calls dynamic."""
        repository = os.environ.get("SPARSEPATH_REPOSITORY", "").rstrip("/")
        readme = Path(self.root, "README.md").read_text("utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": text(readme, repository, metadata["version"]),
        }
        if repository:
            metadata["urls"] = {
                "Source": repository,
                "Issues": f"{repository}/issues",
                "Changes": f"{repository}/blob/v{metadata['version']}/CHANGELOG.md",
            }
