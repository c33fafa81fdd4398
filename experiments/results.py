"""Where the experiments leave their pages and pictures, and the small things they share."""

from pathlib import Path

from matplotlib.figure import Figure

PAGES = Path(__file__).resolve().parent.parent / "docs" / "results"


def save_figure(figure: Figure, name: str) -> str:
    """Write a figure beside the pages; return the Markdown that shows it."""
    PAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(PAGES / f"{name}.png", dpi=110, bbox_inches="tight")
    return f"![{name}]({name}.png)"


def save_page(name: str, text: str) -> None:
    PAGES.mkdir(parents=True, exist_ok=True)
    (PAGES / f"{name}.md").write_text(text, encoding="utf-8")
    print(f"written: {PAGES / name}.md")


def table(header: list[str], rows: list[list[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
