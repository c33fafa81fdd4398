"""The objective at the optimum is that of liblinear and of skglm, to 1e-8."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from sparsepath import GraftingClassifier

PARTS = [0.3, 0.1, 0.01]


def text():
    """Counts of 3000 words in 2000 documents, as a few words of each are used: a sparse matrix."""
    rng = np.random.default_rng(0)
    m, n, length = 2000, 3000, 40
    often = 1 / (5 + np.arange(n))
    words = rng.choice(n, (m, length), p=often / often.sum())
    places = np.repeat(np.arange(m), length), words.ravel()
    X = sp.coo_matrix((np.ones(m * length), places), (m, n)).tocsr()
    w = rng.standard_normal(n) * (rng.random(n) < 0.1)
    return X, (X @ w + 0.5 * rng.standard_normal(m) > 0).astype(int)


@pytest.fixture(scope="module", params=["breast_cancer", "digits", "text"])
def data(request):
    """X, y, columns of standard deviation one, labels +-1, the largest l1.

    Without an intercept's penalty the means of the columns do not matter, so sparse ones stay so.
    """
    if request.param == "text":
        X, y = text()
        assert sp.issparse(X)
        assert X.nnz < 0.02 * X.shape[0] * X.shape[1]
    elif request.param == "digits":
        X, y = load_digits(return_X_y=True)
        y = (y == 0).astype(int)
    else:
        X, y = load_breast_cancer(return_X_y=True)
    Z = StandardScaler(with_mean=not sp.issparse(X)).fit_transform(X)
    t = np.where(y == 1, 1.0, -1.0)
    return X, y, Z, t, np.abs(Z.T @ (t - t.mean())).max() / (2 * len(t))


def objective(Z, t, w, b, l1):
    return np.logaddexp(0, -t * (Z @ w + b)).mean() + l1 * np.abs(w).sum()


def ours(X, y, Z, t, l1):
    model = GraftingClassifier(l1=l1).fit(X, y)
    assert model.kkt_violation_ <= 1e-8
    assert model.dual_gap_ <= 1e-8
    scaler = StandardScaler(with_mean=not sp.issparse(X)).fit(X)
    shift = 0.0 if sp.issparse(X) else model.coef_[0] @ scaler.mean_
    w, b = model.coef_[0] * scaler.scale_, model.intercept_[0] + shift
    found = objective(Z, t, w, b, l1)
    assert model.criterion_ == pytest.approx(found, rel=1e-10)
    return found


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")  # it stalls at rounding
@pytest.mark.parametrize("part", PARTS)
def test_liblinear(data, part):
    X, y, Z, t, largest = data
    l1 = part * largest
    rival = LogisticRegression(
        C=1 / (len(t) * l1), l1_ratio=1.0, solver="liblinear", tol=1e-8, random_state=0,
        max_iter=300, intercept_scaling=1e4,
    ).fit(Z, t)  # fmt: skip
    theirs = objective(Z, t, rival.coef_[0], rival.intercept_[0], l1)
    assert ours(X, y, Z, t, l1) == pytest.approx(theirs, rel=1e-8)


@pytest.mark.parametrize("part", PARTS[:2])
@pytest.mark.filterwarnings("ignore")  # of the other package
def test_skglm(data, part):
    skglm = pytest.importorskip("skglm")
    X, y, Z, t, largest = data
    l1 = part * largest
    A = np.asfortranarray(Z.toarray() if sp.issparse(Z) else Z)  # its sparse loops compile for long
    rival = skglm.SparseLogisticRegression(alpha=l1, tol=1e-10, max_iter=200).fit(A, t)
    theirs = objective(Z, t, rival.coef_.ravel(), float(np.ravel(rival.intercept_)[0]), l1)
    assert ours(X, y, Z, t, l1) == pytest.approx(theirs, rel=1e-8)
