"""Results that print one sentence instead of their arrays."""

from html import escape


class Summary:
    """Base of results with a method ``sentence``."""

    def sentence(self) -> str:
        """The result in one sentence."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.sentence()}>"

    def __str__(self) -> str:
        return self.sentence()

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.sentence())}</p>"
