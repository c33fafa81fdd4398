"""A wrapper around a support vector machine with a Gaussian kernel: (g) of the grafting paper."""

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from sparsepath.system.arrays import Floats


def svm_wrapper(X: Floats, y: Floats, C: float, max_features: int, cv: int = 3) -> NDArray[np.intp]:
    """Select features forward by the cross-validated accuracy of an SVM.

    The same features as scikit-learn's ``SequentialFeatureSelector(SVC(C=C, gamma="auto"),
    cv=cv)``, in about half the time: squared distances add up over features, so that the kernel
    matrix of a candidate is one exponential of the present distances plus its own. Ties go to the
    lowest index.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Features, standardised.
    y : array of shape (n_samples,)
        -1 or 1.
    C : float
        Penalty of the machine.
    max_features : int
        How many features.
    cv : int, default=3
        Folds.

    Returns
    -------
    array of int
        The selected columns, in the order in which they were selected.
    """
    parts = list(StratifiedKFold(cv).split(X, y))
    distances = np.zeros((len(X), len(X)))
    chosen: list[int] = []

    def accuracy(j: int) -> float:
        K = np.exp((distances + np.subtract.outer(X[:, j], X[:, j]) ** 2) / -(len(chosen) + 1))
        right = []
        for train, test in parts:
            svm = SVC(C=C, kernel="precomputed").fit(K[np.ix_(train, train)], y[train])
            scores = K[np.ix_(test, train[svm.support_])] @ svm.dual_coef_[0] + svm.intercept_[0]
            right.append(np.mean(np.where(scores > 0, 1, -1) == y[test]))
        return float(np.mean(right))

    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        for _ in range(max_features):
            best = max((j for j in range(X.shape[1]) if j not in chosen), key=accuracy)
            chosen.append(best)
            distances += np.subtract.outer(X[:, best], X[:, best]) ** 2
    return np.array(chosen, dtype=np.intp)
