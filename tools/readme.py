"""README.md for a package index, where no other files are available.

Links and pictures lead into the repository at the tag of the release. The release workflow names it
in SPARSEPATH_REPOSITORY; without that, pictures are left out and links are their words alone.
"""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

HERE = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:)([^)]*)\)")


def text(readme: str, repository: str, version: str) -> str:
    """Return the README with links to files replaced by URLs."""

    def good(link: re.Match[str]) -> str:
        picture, words, where = link.groups()
        if not repository:
            return "" if picture else words
        kind = "raw" if picture else "blob"
        return f"{picture}[{words}]({repository}/{kind}/v{version}/{where})"

    return HERE.sub(good, readme)


def dynamic_metadata(
    field: str, settings: dict[str, Any] | None = None, project: dict[str, Any] | None = None
) -> Any:
    """Fill in what pyproject.toml calls dynamic; scikit-build-core calls this when it builds."""
    repository = os.environ.get("SPARSEPATH_REPOSITORY", "").rstrip("/")
    version = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["version"]
    if field == "readme":
        readme = Path("README.md").read_text("utf-8")
        return {"content-type": "text/markdown", "text": text(readme, repository, version)}
    if not repository:
        return {}
    return {
        "Source": repository,
        "Issues": f"{repository}/issues",
        "Changes": f"{repository}/blob/v{version}/CHANGELOG.md",
    }
