"""A third kind of block: it lives behind a post office that weighs every letter.

Messages and answers are pickled, as they would be for another process, and their bytes are counted;
the block counts how often it is read. Whatever does not fit into a letter (a lambda, an array of a
block) fails here.
"""

import pickle

from sparsepath.data.blocks import DenseBlock
from sparsepath.system.threads import Threads


class PostedBlock(DenseBlock):
    """Rows that count how many of their numbers are read."""

    def __init__(self, X, start=0, stop=None):
        super().__init__(X, start, stop)
        self.passes = 0.0  # readings of all columns

    def _read(self, n_columns):
        self.passes += n_columns / self.shape[1]

    def dot(self, V, some=None):
        self._read(self.shape[1] if some is None else len(some))
        return DenseBlock(self.whole, self._start, self._start + self.shape[0]).dot(V, some)

    def gram(self, means, weights, some):
        self._read(len(some))
        return super().gram(means, weights, some)

    def spread(self, means, weights):
        self._read(self.shape[1])
        return super().spread(means, weights)

    def columns(self, indices, out=None):
        self._read(len(indices))
        return super().columns(indices, out)


class Post(Threads):
    """A crew that knows its parts by letter only."""

    def __init__(self):
        super().__init__(1)
        self.letters, self.sent, self.received = 0, 0, 0

    def ask(self, parts, numbers, message, *args, **more):
        letter = pickle.dumps((message, args, more))
        answers = []
        for part in parts:
            asked, given, named = pickle.loads(letter)
            answer = pickle.dumps(asked(part, *given, **named))
            answers.append(pickle.loads(answer))
            self.letters += 1
            self.sent += len(letter)
            self.received += len(answer)
        return answers
