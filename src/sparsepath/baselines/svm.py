"""A wrapper around a support vector machine with a Gaussian kernel: (g) of the grafting paper."""

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.svm import SVC

from sparsepath.base.parameters import at_most, positive
from sparsepath.baselines.two_classes import two_classes
from sparsepath.data.splits import splits_of


def svm_wrapper(
    X: ArrayLike, y: ArrayLike, C: float, max_features: int, cv: int = 3
) -> NDArray[np.intp]:
    """Select features forward by the cross-validated accuracy of an SVM.

    The same features as scikit-learn's ``SequentialFeatureSelector(SVC(C=C, gamma="auto"),
    cv=cv)``, in about half the time: squared distances add up over features, so that the kernel
    matrix of a candidate is one exponential of the present distances plus its own. Ties go to the
    lowest index.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features, standardised.
    y : array-like of shape (n_samples,)
        Two-class labels.
    C : float
        Penalty of the machine.
    max_features : int
        Number of features.
    cv : int, default=3
        Folds.

    Returns
    -------
    array of int
        The selected columns, in the order in which they were selected.
    """
    positive("C", C)
    A, signs = two_classes(X, y)
    most = at_most("max_features", max_features, A.shape[1])
    parts = splits_of(cv, A, signs, classifier=True)
    distances = np.zeros((len(A), len(A)))
    chosen: list[int] = []

    def accuracy(j: int) -> float:
        K = np.exp((distances + np.subtract.outer(A[:, j], A[:, j]) ** 2) / -(len(chosen) + 1))
        right = []
        for train, test in parts:
            svm = SVC(C=C, kernel="precomputed").fit(K[np.ix_(train, train)], signs[train])
            scores = K[np.ix_(test, train[svm.support_])] @ svm.dual_coef_[0] + svm.intercept_[0]
            right.append(np.mean(np.where(scores > 0, 1, -1) == signs[test]))
        return float(np.mean(right))

    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        for _ in range(most):
            best = max((j for j in range(A.shape[1]) if j not in chosen), key=accuracy)
            chosen.append(best)
            distances += np.subtract.outer(A[:, best], A[:, best]) ** 2
    return np.array(chosen, dtype=np.intp)
