"""Independent references for grafting: plain, slow, and sharing no code with the package.

The convex part is solved by scipy on split weights (w = u - v with u, v >= 0), polished on the
support; groups by accelerated proximal gradient steps. The procedure for L0 follows the paper line
by line on a dense standardised matrix.
"""

import numpy as np
from scipy.optimize import minimize


def standardise(X, s, intercept=True):
    mean = s @ X if intercept else np.zeros(X.shape[1])
    Z = X - mean
    sd = np.sqrt(s @ Z**2)
    dead = sd <= 1e-13 * np.sqrt(s @ X**2 + 1e-300)
    Z[:, dead] = 0.0
    return Z / np.where(dead, 1.0, sd)


POWERS = {"poisson": 1.0, "tweedie": 1.5, "gamma": 2.0}


def loss_and_slope(kind, f, y, delta=1.35):
    """Value and derivative per sample; y is +-1, a number, or a one-hot row."""
    if kind == "logistic":
        return np.logaddexp(0, -y * f), -y / (1 + np.exp(np.clip(y * f, -700, 700)))
    if kind == "squared_hinge":
        lacks = np.where(y * f < 1, 1 - y * f, 0.0)
        return lacks**2, -2 * y * lacks
    if kind == "squared":
        return (f - y) ** 2 / 2, f - y
    if kind == "huber":
        r = f - y
        inside = np.abs(r) <= delta
        value = np.where(inside, r**2 / 2, delta * (np.abs(r) - delta / 2))
        return value, np.where(inside, r, delta * np.sign(r))
    if kind in POWERS:
        p, mu = POWERS[kind], np.exp(f)
        if p == 1:
            own = np.array([0.0 if v == 0 else v * np.log(v) - v for v in y])
            return own - y * f + mu, mu - y
        if p == 2:
            return y / mu - 1 - np.log(y) + f, 1 - y / mu
        own = y ** (2 - p) / ((1 - p) * (2 - p))
        value = own - y * mu ** (1 - p) / (1 - p) + mu ** (2 - p) / (2 - p)
        return value, mu ** (2 - p) - y * mu ** (1 - p)
    if kind == "multinomial":
        g = f - f.max(1, keepdims=True)
        total = np.exp(g).sum(1, keepdims=True)
        return (np.log(total) - g)[y > 0], np.exp(g) / total - y
    raise ValueError(kind)


def criterion(kind, Z, y, s, w, b, l1, l2, l0=0.0, delta=1.35):
    f = Z @ w + b
    norms = np.abs(w) if w.ndim == 1 else np.linalg.norm(w, axis=1)
    penalty = np.sum(l1 * norms) + np.sum(l2 * norms**2) + np.sum(l0 * (norms > 0))
    return s @ loss_and_slope(kind, f, y, delta)[0] + penalty


def convex(kind, Z, y, s, l1, l2, intercept=True, free=None, delta=1.35):
    """(w, b, C) for one output, over the free weights."""
    n = Z.shape[1]
    l1, l2 = np.broadcast_to(l1, n), np.broadcast_to(l2, n)
    cols = np.arange(n) if free is None else np.array(sorted(free), dtype=int)
    A, k = Z[:, cols], len(cols)

    def objective(t):
        u, v, b = t[:k], t[k : 2 * k], t[-1]
        w = u - v
        value, slope = loss_and_slope(kind, A @ w + b, y, delta)
        g = A.T @ (s * slope) + 2 * l2[cols] * w
        total = s @ value + l2[cols] @ w**2 + l1[cols] @ (u + v)
        db = (s @ slope) if intercept else 0.0
        return total, np.concatenate([g + l1[cols], -g + l1[cols], [db]])

    bounds = [(0, None)] * (2 * k) + [(None, None) if intercept else (0, 0)]
    t = np.zeros(2 * k + 1)
    best = np.inf
    for _ in range(4):
        found = minimize(
            objective, t, jac=True, bounds=bounds, method="L-BFGS-B",
            options={"maxiter": 2000, "maxfun": 4000, "ftol": 0, "gtol": 1e-13, "maxcor": 30},
        )  # fmt: skip
        t = found.x
        both = np.minimum(t[:k], t[k : 2 * k])
        t[:k] -= both
        t[k : 2 * k] -= both
        if found.fun >= best - 1e-16 * abs(found.fun):
            break
        best = found.fun
    w = np.zeros(n)
    w[cols] = t[:k] - t[k : 2 * k]
    return w, t[-1], criterion(kind, Z, y, s, w, t[-1], l1, l2, delta=delta)


def partial_likelihood(time, event, s, f):
    """Minus the logarithm of Cox's partial likelihood and its gradient, by loops over pairs."""
    value, gradient = 0.0, np.zeros(len(f))
    for i in range(len(f)):
        if not event[i]:
            continue
        risk = [j for j in range(len(f)) if time[j] >= time[i]]
        shares = np.array([s[j] * np.exp(f[j]) for j in risk])
        value += s[i] * (np.log(shares.sum() / s[i]) - f[i])
        gradient[i] -= s[i]
        gradient[risk] += s[i] * shares / shares.sum()
    return value, gradient


def cox(Z, time, event, s, l1, l2):
    """(w, C) of the penalised partial likelihood, by scipy on split weights."""
    n = Z.shape[1]

    def objective(t):
        w = t[:n] - t[n:]
        value, slope = partial_likelihood(time, event, s, Z @ w)
        g = Z.T @ slope + 2 * l2 * w
        return value + l2 * w @ w + l1 * t.sum(), np.concatenate([g + l1, -g + l1])

    t = np.zeros(2 * n)
    for _ in range(3):
        t = minimize(
            objective, t, jac=True, bounds=[(0, None)] * (2 * n), method="L-BFGS-B",
            options={"maxiter": 1000, "ftol": 0, "gtol": 1e-13, "maxcor": 30},
        ).x  # fmt: skip
        both = np.minimum(t[:n], t[n:])
        t = t - np.concatenate([both, both])
    return t[:n] - t[n:], objective(t)[0]


def concordance(time, event, risk):
    """Harrell's C by a loop over all pairs."""
    right = pairs = 0.0
    for i in range(len(time)):
        for j in range(len(time)):
            if event[i] and (time[j] > time[i] or (time[j] == time[i] and not event[j])):
                pairs += 1
                right += 1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0
    return right / pairs


def prox_newton(Z, y, l1, rounds=200):
    """(w, b, C) of the mean logistic loss with l1: proximal Newton steps, plain and exact.

    Each quadratic model is minimised by coordinate descent on the full matrix, the intercept as one
    more coordinate without a penalty; steps are halved until C falls.
    """
    m, n = Z.shape
    A = np.column_stack([Z, np.ones(m)])
    lam = np.append(np.full(n, l1), 0.0)
    v = np.zeros(n + 1)

    def total(v):
        return np.logaddexp(0, -y * (A @ v)).mean() + lam @ np.abs(v)

    for _ in range(rounds):
        p = 1 / (1 + np.exp(np.clip(y * (A @ v), -700, 700)))
        g = -A.T @ (y * p) / m
        H = (A * (p * (1 - p))[:, None]).T @ A / m + 1e-12 * np.eye(n + 1)
        d, slope = np.zeros(n + 1), g.copy()
        for _ in range(3000):
            largest = 0.0
            for j in range(n + 1):
                z = H[j, j] * (v[j] + d[j]) - slope[j]
                new = np.sign(z) * max(abs(z) - lam[j], 0.0) / H[j, j]
                step = new - v[j] - d[j]
                if step:
                    d[j] += step
                    slope += step * H[j]
                    largest = max(largest, abs(step) * H[j, j])
            if largest < 1e-13:
                break
        here, t = total(v), 1.0
        while total(v + t * d) > here and t > 1e-10:
            t /= 2
        if np.abs(d).max() < 1e-12 or t <= 1e-10:
            break
        v = v + t * d
    return v[:n], v[n], total(v)


def groups(Z, Y, s, l1, l2, intercept=True, rounds=8000):
    """(W, b, C) of the multinomial criterion with one group per feature: FISTA with restarts."""
    n, K = Z.shape[1], Y.shape[1]
    l1, l2 = np.broadcast_to(l1, n)[:, None], np.broadcast_to(l2, n)[:, None]
    A = np.column_stack([Z, np.ones(len(Z)) * intercept])
    L = 0.5 * np.linalg.eigvalsh((A * s[:, None]).T @ A)[-1] + 2 * l2.max()
    V = np.zeros((n + 1, K))
    T, t = V.copy(), 1.0
    for _ in range(rounds):
        slope = loss_and_slope("multinomial", A @ T, Y)[1]
        G = A.T @ (s[:, None] * slope)
        G[:n] += 2 * l2 * T[:n]
        new = T - G / L
        norms = np.linalg.norm(new[:n], axis=1, keepdims=True)
        new[:n] *= np.maximum(1 - l1 / L / np.maximum(norms, 1e-300), 0)
        if np.sum((T - new) * (new - V)) > 0:
            t = 1.0
        after = (1 + np.sqrt(1 + 4 * t * t)) / 2
        T = new + (t - 1) / after * (new - V)
        moved = np.abs(new - V).max()
        V, t = new, after
        if moved < 1e-15:
            break
    W, b = V[:n], V[n] * intercept
    return W, b, criterion("multinomial", Z, Y, s, W, b, l1[:, 0], l2[:, 0])


def graft(
    kind, Z, y, s, l1, l2, l0, selection="gradient", stop="first", newest=False,
    max_features=None, slack=1e-7,
):  # fmt: skip
    """The paper's procedure for one output: (list of (action, feature), w, b, C)."""
    n = Z.shape[1]
    l1, l2, l0 = (np.broadcast_to(np.asarray(v, float), n) for v in (l1, l2, l0))
    usable = np.abs(Z).max(0) > 0
    w, b, _ = convex(kind, Z, y, s, l1, l2, free=[])
    C = criterion(kind, Z, y, s, w, b, l1, l2, l0)
    F, done, failed, last = [], [], set(), 0.0
    while max_features is None or len(F) < max_features:
        slope = loss_and_slope(kind, Z @ w + b, y)[1]
        g = np.abs(Z.T @ (s * slope))
        open_ = [
            j for j in range(n)
            if usable[j] and j not in F and j not in failed and g[j] - l1[j] > slack
        ]  # fmt: skip
        if not open_:
            break
        if selection == "bound" and last > 0:
            score = {j: l0[j] - last * (g[j] - l1[j] - l2[j] * last) for j in open_}
        else:
            score = {j: -(g[j] - l1[j]) for j in open_}
        j = min(open_, key=lambda i: (round(score[i], 9), i))
        if newest:
            w2, b2 = _newest(kind, Z, y, s, l1, l2, w, b, j)
        else:
            w2, b2, _ = convex(kind, Z, y, s, l1, l2, free=[*F, j])
            w2[np.abs(w2) < 1e-9] = 0.0
        C2 = criterion(kind, Z, y, s, w2, b2, l1, l2, l0)
        if not C - 1e-12 * abs(C) > C2:
            done.append(("undo", j))
            if stop == "first":
                break
            failed.add(j)
            continue
        w, b, C, failed, last = w2, b2, C2, set(), abs(w2[j])
        F.append(j)
        done.append(("add", j))
        for i in [i for i in F if w[i] == 0]:
            F.remove(i)
            done.append(("drop", i))
    return done, w, b, C


def _newest(kind, Z, y, s, l1, l2, w, b, j):
    """Minimise over weight j and the intercept alone, by alternating golden-section searches."""
    base = Z @ w - Z[:, j] * w[j]

    def total(v, c):
        return (
            s @ loss_and_slope(kind, base + Z[:, j] * v + c, y)[0] + l1[j] * abs(v) + l2[j] * v * v
        )

    out = minimize(
        lambda t: total(t[0] - t[1], t[2]), [0.0, 0.0, b], method="L-BFGS-B",
        bounds=[(0, None), (0, None), (None, None)],
        options={"ftol": 0, "gtol": 1e-12, "maxiter": 5000},
    )  # fmt: skip
    w = w.copy()
    w[j] = out.x[0] - out.x[1]
    return w, out.x[2]


def softmax_scores(Z, links, outs, homes, a, b):
    """Outputs of a network with lists of links (unit, feature, w) and outs (unit, class, v)."""
    F = np.tile(b, (len(Z), 1)).astype(float)
    for j, home in enumerate(homes):
        t = a[j] + sum(w * Z[:, i] for unit, i, w in links if unit == j)
        g = 2 / (1 + np.exp(-t)) - 1
        F[:, home] += g
        for unit, k, v in outs:
            if unit == j:
                F[:, k] += v * g
    return F


def softmax_grow(Z, Y, s, l1, l0, steps):
    """Growth with L0 per connection; gradients of candidates by central differences.

    The history as (unit, feature or None, class or None, C), and C at the end.
    """
    K, n = Y.shape[1], Z.shape[1]

    def mean_loss(links, outs, homes, a, b):
        return s @ loss_and_slope("multinomial", softmax_scores(Z, links, outs, homes, a, b), Y)[0]

    def with_weight(state, j, i, k, e):
        links, outs, homes, a, b = state
        if i is None:
            return links, [*outs, (j, k, e)], homes, a, b
        if k is not None:
            homes, a = [*homes, k], [*a, 0.0]
        return [*links, (j, i, e)], outs, homes, a, b

    def size_of(state, what):
        up, down = (mean_loss(*with_weight(state, *what, e)) for e in (1e-5, -1e-5))
        return abs(up - down) / 2e-5

    state = ([], [], [], [], np.log(s @ Y))
    here = mean_loss(*state)
    history = []
    for _ in range(steps):
        links, outs, homes, *_ = state
        candidates = [(len(homes), i, k) for k in range(K) for i in range(n)]
        for j, home in enumerate(homes):
            fed = {i for unit, i, _ in links if unit == j}
            feeds = {home} | {k for unit, k, _ in outs if unit == j}
            candidates += [(j, i, None) for i in range(n) if i not in fed]
            candidates += [(j, None, k) for k in range(K) if k not in feeds]
        sizes = [size_of(state, what) for what in candidates]
        what = candidates[int(np.argmax(sizes))]
        if max(sizes) <= l1:
            break
        trial, C = _softmax_fit(Z, Y, s, l1, *with_weight(state, *what, 0.0))
        weights = [w for *_, w in trial[0] + trial[1]]
        assert all(weights), "a weight came back to zero; use other data"
        C += l0 * len(weights)
        if not here > C:
            break
        state, here = trial, C
        history.append((*what, C))
    return history, here


def _softmax_fit(Z, Y, s, l1, links, outs, homes, a, b):
    c, h = len(links) + len(outs), len(homes)

    def parts(p):
        wide = [(j, i, w) for (j, i, _), w in zip(links, p, strict=False)]
        outer = [(j, k, v) for (j, k, _), v in zip(outs, p[len(links) :], strict=False)]
        return wide, outer, p[c : c + h], p[c + h :]

    def objective(t):
        p = np.concatenate([t[:c] - t[c : 2 * c], t[2 * c :]])
        wide, outer, biases, shift = parts(p)
        F = softmax_scores(Z, wide, outer, homes, biases, shift)
        value, S = loss_and_slope("multinomial", F, Y)
        S = s[:, None] * S
        unit, back = [], []
        for j in range(h):
            u = 2 / (1 + np.exp(-biases[j] - sum(w * Z[:, i] for q, i, w in wide if q == j))) - 1
            down = S[:, homes[j]] + sum(v * S[:, k] for q, k, v in outer if q == j)
            unit.append(u)
            back.append(down * (1 - u * u) / 2)
        g = [back[j] @ Z[:, i] for j, i, _ in wide] + [unit[j] @ S[:, k] for j, k, _ in outer]
        g = np.array(g)
        rest = [each.sum() for each in back] + list(S.sum(0))
        return s @ value + l1 * t[: 2 * c].sum(), np.concatenate([g + l1, l1 - g, rest])

    p = np.concatenate([[w for *_, w in links], [v for *_, v in outs], a, b])
    start = np.concatenate([np.maximum(p[:c], 0), np.maximum(-p[:c], 0), p[c:]])
    bounds = [(0, None)] * (2 * c) + [(None, None)] * (h + len(b))
    options = {"gtol": 1e-9, "ftol": 1e-16, "maxiter": 5000, "maxfun": 20000}
    t = minimize(objective, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x
    wide, outer, biases, shift = parts(np.concatenate([t[:c] - t[c : 2 * c], t[2 * c :]]))
    return (wide, outer, homes, list(biases), shift), objective(t)[0]


def set_squares(X, s, r, order):
    """For every set of inputs the sum over products of polynomials in ranks of (sum r p)^2.

    Pairs have products of degrees one and two; larger sets of degree one. The polynomials come
    from a least-squares projection of powers of the mid-ranks.
    """
    from itertools import combinations, product

    m, n = X.shape
    basis = np.zeros((2, m, n))
    for j in range(n):
        rank = np.array([s[X[:, j] < x].sum() + s[X[:, j] == x].sum() / 2 for x in X[:, j]])
        columns = [np.ones(m)]
        for degree in (1, 2):
            A = np.column_stack(columns) * np.sqrt(s)[:, None]
            power = rank**degree
            fit = np.linalg.lstsq(A, power * np.sqrt(s), rcond=None)[0]
            rest = power - np.column_stack(columns) @ fit
            size = np.sqrt(s @ rest**2)
            if size > 1e-6:
                basis[degree - 1, :, j] = rest / size
                columns.append(rest)
    out = {}
    for subset in combinations(range(n), order):
        degrees = product((0, 1), repeat=2) if order == 2 else [(0,) * order]
        out[subset] = sum(
            (r @ np.prod([basis[d, :, j] for d, j in zip(each, subset, strict=True)], axis=0)) ** 2
            for each in degrees
        )
    return out
