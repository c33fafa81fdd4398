"""Figures that a notebook shows once, after ``path.plot()`` and after ``path.plot();``.

Figures of pyplot are shown at the end of a cell, and a second time where one is the value of the
cell. These do not use pyplot: they display themselves as the value of a cell, and otherwise at its
end.
"""

import io
from typing import Any

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """Figure that displays itself as a PNG."""

    is_shown = False

    def _ipython_display_(self) -> None:
        from IPython.display import display  # type: ignore[import-not-found]

        stream = io.BytesIO()
        self.savefig(stream, format="png")
        self.is_shown = True
        display({"image/png": stream.getvalue(), "text/plain": repr(self)}, raw=True)


def figure_of_cell(shell: Any, **options: Any) -> NotebookFigure:
    """Return a new figure that is shown at the end of the running cell, unless it is its value."""
    figure = NotebookFigure(**options)

    def show() -> None:
        shell.events.unregister("post_execute", show)
        if not figure.is_shown:
            figure._ipython_display_()

    shell.events.register("post_execute", show)
    return figure
