"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

What the package needs, and the data frames that it takes; test tools stay as new as they come.
"""

import tomllib
from pathlib import Path

project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text("utf-8"))
needed = project["project"]["dependencies"]
for requirement in [*needed, *project["project"]["optional-dependencies"]["frames"]]:
    print(requirement.replace(">=", "=="))
