/* Small data made ready, a forward search on them, and the numbers of its path: what design.py, whole.py and numbers.py
 * do in NumPy.
 *
 * Letters, guards and rules are those of `forward` and `Noted` there, which say why. Matrices lie row by
 * row. A sum goes in LANES parts, of which a compiler makes a vector, in an order that is fixed: a number
 * does not know where in memory it lies, nor what comes after it.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(_WIN32)
#define PUBLIC __declspec(dllexport)
#else
#define PUBLIC
#endif

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

/* One library for all processors of a kind: loops for each width of their vectors, chosen when it is loaded. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define EVERY_WIDTH __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EVERY_WIDTH
#endif

#define INTERFACE 4 /* as in small.py: a library that was built of another source is not used */
#define LANES 16
#define SHRUNK 1e-4 /* part of the squares of the targets from which products with them are taken afresh */

INLINE double total(const double *s) {
    double halves[LANES / 2];
    for (int l = 0; l < LANES / 2; l++) halves[l] = s[l] + s[l + LANES / 2];
    return ((halves[0] + halves[1]) + (halves[2] + halves[3])) + ((halves[4] + halves[5]) + (halves[6] + halves[7]));
}

INLINE double dot(const double *a, const double *b, int64_t n) {
    double s[LANES] = {0};
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (int l = 0; l < LANES; l++) s[l] += a[j + l] * b[j + l];
    for (int l = 0; j < n; j++, l++) s[l] += a[j] * b[j];
    return total(s);
}

INLINE double sum_of(const double *a, int64_t n) {
    double s[LANES] = {0};
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (int l = 0; l < LANES; l++) s[l] += a[j + l];
    for (int l = 0; j < n; j++, l++) s[l] += a[j];
    return total(s);
}

INLINE void take_off(double *restrict a, double f, const double *restrict b, int64_t n) {
    for (int64_t j = 0; j < n; j++) a[j] -= f * b[j];
}

/* Products of z with `count` rows, which lie `stride` apart, four at a time: each sum goes as in `dot`. */
INLINE void products_with(const double *rows, int64_t stride, int64_t count, const double *z, int64_t n, double *t) {
    int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const double *a = rows + i * stride, *b = a + stride, *c = b + stride, *d = c + stride;
        double s[4][LANES] = {{0}};
        int64_t j = 0;
        for (; j + LANES <= n; j += LANES)
            for (int l = 0; l < LANES; l++) {
                const double x = z[j + l];
                s[0][l] += a[j + l] * x;
                s[1][l] += b[j + l] * x;
                s[2][l] += c[j + l] * x;
                s[3][l] += d[j + l] * x;
            }
        for (int l = 0; j < n; j++, l++) {
            s[0][l] += a[j] * z[j];
            s[1][l] += b[j] * z[j];
            s[2][l] += c[j] * z[j];
            s[3][l] += d[j] * z[j];
        }
        for (int k = 0; k < 4; k++) t[i + k] = total(s[k]);
    }
    for (; i < count; i++) t[i] = dot(rows + i * stride, z, n);
}

/* Take `count` rows off z, t times each, in their order. */
INLINE void take_off_rows(double *restrict z, const double *t, const double *restrict rows, int64_t stride,
                          int64_t count, int64_t n) {
    int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        const double *a = rows + i * stride, *b = a + stride, *c = b + stride, *d = c + stride;
        const double e = t[i], f = t[i + 1], g = t[i + 2], h = t[i + 3];
        for (int64_t j = 0; j < n; j++) z[j] = (((z[j] - e * a[j]) - f * b[j]) - g * c[j]) - h * d[j];
    }
    for (; i < count; i++) take_off(z, t[i], rows + i * stride, n);
}

/* Take f q off z, and then the sum of ((r - z tau) / (p - z^2 / pivot))^2 over m samples, a multiple of LANES; infinite
 * without room in p. Samples go in pairs, which take one division: (c/a)^2 + (d/b)^2 = ((cb)^2 + (da)^2) / (ab)^2. */
INLINE double judged(double *restrict z, double f, const double *restrict q, double tau, double pivot,
                     const double *restrict r, const double *restrict p, double room, int64_t m) {
    enum { HALF = LANES / 2 };
    double s[LANES] = {0}, least[LANES];
    const double inverse = 1.0 / pivot;
    for (int l = 0; l < LANES; l++) least[l] = 1.0;
    for (int64_t j = 0; j < m; j += LANES)
        for (int l = 0; l < HALF; l++) {
            const int64_t i = j + l, h = i + HALF;
            const double x = z[i] - f * q[i], v = z[h] - f * q[h];
            const double a = p[i] - x * x * inverse, b = p[h] - v * v * inverse, ab = a * b;
            const double cb = (r[i] - x * tau) * b, da = (r[h] - v * tau) * a;
            z[i] = x;
            z[h] = v;
            least[l] = a < least[l] ? a : least[l];
            least[l + HALF] = b < least[l + HALF] ? b : least[l + HALF];
            s[l] += (cb * cb + da * da) / (ab * ab);
        }
    for (int l = 0; l < LANES; l++)
        if (!(least[l] > room)) return INFINITY;
    return total(s);
}

/* A row of a column x less its part in k rows of Q, which is taken off twice. */
INLINE void make_afresh(double *row, const double *x, int64_t m, const double *Q, int64_t k, int64_t wide,
                        int64_t width) {
    memset(row, 0, width * sizeof(double));
    memcpy(row, x, m * sizeof(double));
    for (int twice = 0; twice < 2; twice++)
        for (int64_t past = 0; past < k; past++)
            take_off(row, dot(row, Q + past * width, wide), Q + past * width, wide);
}

INLINE int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

PUBLIC int64_t interface_of_small(void) { return INTERFACE; }

/* Means of n columns of m numbers, squares around them, and their marks with the numbers `a` of the rows (see
 * data/fingerprint.py): sums modulo 2^64 of a h(x), with h(x) the bits of x, halves joined, zero for both zeros. */
PUBLIC EVERY_WIDTH void measure_columns(int64_t m, int64_t n, const double *X, const uint64_t *a, double *means,
                                        double *squares, uint64_t *marks) {
    for (int64_t i = 0; i < n; i++, X += m) {
        const double mean = sum_of(X, m) / m;
        double s[LANES] = {0};
        uint64_t mark = 0;
        for (int64_t j = 0; j < m; j++) {
            const double x = X[j] + 0.0;
            uint64_t h;
            memcpy(&h, &x, sizeof h);
            mark += a[j] * (h ^ h >> 32);
        }
        int64_t j = 0;
        for (; j + LANES <= m; j += LANES)
            for (int l = 0; l < LANES; l++) s[l] += (X[j + l] - mean) * (X[j + l] - mean);
        for (int l = 0; j < m; j++, l++) s[l] += (X[j] - mean) * (X[j] - mean);
        means[i] = mean;
        squares[i] = total(s);
        marks[i] = mark;
    }
}

/* Some of the columns as they stand: centred and scaled; `columns_of` in carried.py. */
PUBLIC EVERY_WIDTH void centre_columns(int64_t m, int64_t n, const double *X, const int64_t *which, const double *means,
                                       const double *left, const double *scales, double *restrict out) {
    for (int64_t i = 0; i < n; i++, out += m) {
        const double *x = X + which[i] * m, mean = means[which[i]], off = left[which[i]], scale = scales[which[i]];
        for (int64_t j = 0; j < m; j++) out[j] = (x[j] - mean - off) * scale;
    }
}

/* How many numbers `choose_forward` and `search_forward` work with. */
PUBLIC int64_t numbers_to_search(int64_t m, int64_t n, int64_t T, int64_t size) {
    const int64_t M = rounded_up(m, LANES), width = M + rounded_up(size, LANES);
    const int64_t choosing = (n + T + size) * width + M + (3 + T) * n + T;
    const int64_t noting = size * (m + size) + (size + 1) * (T + 1) * m + size + m;
    return choosing > noting ? choosing : noting;
}

/* Choose up to `size` of n columns X, n x m, for T targets y; `whole.forward`.
 *
 * `guards` are room, tie, tie_floor, second_go squared, vanished squared. `at` has room for 2 + size + n: how
 * many were chosen, if all is fit, which they are, and those that are left. Samples are filled up to M, where z and
 * r are zero and p is one.
 *
 * With f = z'q the row z - f q has the pivot s - f^2 and the product c - f q'r with the target, so that two passes
 * over it are enough. As digits go by that, a row is made afresh when little is left of it, and products are taken
 * afresh once little is left of the targets.
 */
PUBLIC EVERY_WIDTH void choose_forward(int64_t m, int64_t n, int64_t T, int64_t size, double alpha,
                                       const double *guards, const double *X, const double *y, const double *p0,
                                       const double *floor, const double *squares, double *work, int64_t *at) {
    const double room = guards[0], tie = guards[1], tie_floor = guards[2], second_go = guards[3];
    const int64_t M = rounded_up(m, LANES), width = M + rounded_up(size, LANES);
    double *C = work, *V = C + n * width, *Q = V + T * width, *p = Q + size * width, *pivots = p + M;
    double *values = pivots + n, *doubted = values + n, *along = doubted + n, *a = along + n * T;
    int64_t *subset = at + 2, *live = subset + size, left = n, k = 0;
    double everything = 0.0, empty = 0.0;

    memset(V, 0, (T + size) * width * sizeof(double));
    for (int64_t j = 0; j < M; j++) p[j] = j < m ? p0[j] : 1.0;
    for (int64_t t = 0; t < T; t++) {
        double *r = V + t * width;
        memcpy(r, y + t * m, m * sizeof(double));
        everything += dot(r, r, M);
        for (int64_t j = 0; j < m; j++) empty += p[j] > room ? r[j] * r[j] / (p[j] * p[j]) : INFINITY;
    }
    for (int64_t i = 0; i < n; i++) {
        double *z = C + i * width;
        make_afresh(z, X + i * m, m, Q, 0, 0, width);
        live[i] = i;
        pivots[i] = dot(z, z, M) + alpha;
        doubted[i] = second_go * pivots[i];
        for (int64_t t = 0; t < T; t++) along[i * T + t] = dot(z, V + t * width, M);
    }
    double now = everything;
    while (k < size && left > 0 && now > guards[4] * everything) {
        const int64_t wide = M + rounded_up(k, LANES);
        const double *q = k ? Q + (k - 1) * width : V;
        const int little = now < SHRUNK * everything;
        double least = INFINITY;
        for (int64_t place = 0; place < left; place++) {
            const int64_t i = live[place];
            double *z = C + i * width, *c = along + i * T, f = k ? dot(z, q, wide) : 0.0, value = 0.0;
            pivots[i] -= f * f;
            for (int64_t t = 0; t < T && k; t++) c[t] -= f * a[t];
            if (little || (pivots[i] < doubted[i] && pivots[i] > floor[i])) {
                take_off(z, f, q, wide);
                if (pivots[i] < doubted[i]) make_afresh(z, X + i * m, m, Q, k, wide, width);
                f = 0.0;
                pivots[i] = dot(z, z, wide) + alpha;
                doubted[i] = doubted[i] < second_go * pivots[i] ? doubted[i] : second_go * pivots[i];
                for (int64_t t = 0; t < T; t++) c[t] = dot(z, V + t * width, wide);
            }
            take_off(z + M, f, q + M, wide - M);
            for (int64_t t = 0; t < T; t++, f = 0.0) {
                const double *r = V + t * width, pivot = pivots[i] > floor[i] ? pivots[i] : INFINITY;
                value += judged(z, f, q, c[t] / pivot, pivot, r, p, room, M);
            }
            values[i] = pivots[i] > floor[i] ? value : INFINITY;
            least = values[i] < least ? values[i] : least;
        }
        if (!(least < INFINITY)) break;
        int64_t place = 0;
        while (!(values[live[place]] <= least + tie * least + tie_floor * empty)) place++;
        const int64_t best = live[place];
        double *new = Q + k * width, *c = along + best * T;
        memcpy(new, C + best * width, width * sizeof(double));
        if (pivots[best] < second_go * squares[best]) make_afresh(new, X + best * m, m, Q, k, wide, width);
        const double pivot = dot(new, new, wide) + alpha, scale = 1.0 / sqrt(pivot);
        for (int64_t t = 0; t < T; t++) c[t] = dot(new, V + t * width, wide);
        new[M + k] = -sqrt(alpha);
        for (int64_t j = 0; j < width; j++) new[j] *= scale;
        now = 0.0;
        for (int64_t t = 0; t < T; t++) {
            double *r = V + t * width;
            a[t] = scale * c[t];
            take_off(r, a[t], new, width);
            now += dot(r, r, M);
        }
        for (int64_t j = 0; j < M; j++) p[j] -= new[j] * new[j];
        left--;
        for (; place < left; place++) live[place] = live[place + 1];
        subset[k++] = best;
    }
    at[0] = k;
    at[1] = !(now > guards[4] * everything);
}

/* Go on from k to `until` rows of the basis, whose columns are there already; `Noted.extend`.
 *
 * Rows are [z, d], m + size long; `t` has room for size.
 */
PUBLIC EVERY_WIDTH void extend_basis(int64_t m, int64_t size, int64_t k, int64_t until, double alpha, double once_more,
                                     double *rows, double *t) {
    const int64_t width = m + size;
    for (; k < until; k++) {
        double *z = rows + k * width, *d = z + m;
        const double square = dot(z, z, m);
        double left = square;
        products_with(rows, width, k, z, m, t);
        take_off_rows(z, t, rows, width, k, m + k);
        left -= dot(t, t, k);
        if (k && !(left > once_more * square)) {
            for (int64_t past = 0; past < k; past++) {
                const double *of = rows + past * width;
                t[past] = dot(of, z, m) + alpha * dot(of + m, d, k);
            }
            take_off_rows(z, t, rows, width, k, m + k);
            left = dot(z, z, m) + alpha * dot(d, d, k);
        }
        const double scale = 1.0 / sqrt(left + alpha);
        for (int64_t j = 0; j < m + k; j++) z[j] *= scale;
        d[k] = -scale;
    }
}

/* Residuals and 1 - leverages rp, (T + 1) x m, and coefficients w, T x size, of the sizes after k up to `until`;
 * `Noted._stand`. */
PUBLIC EVERY_WIDTH void stand_at(int64_t m, int64_t T, int64_t size, int64_t k, int64_t until, const double *rows,
                                 const double *y, double *rp, double *w) {
    const int64_t stride = (T + 1) * m;
    for (; k < until; k++) {
        const double *z = rows + k * (m + size), *d = z + m;
        const double *before = rp + k * stride, *w_before = w + k * T * size;
        double *after = rp + (k + 1) * stride, *w_after = w + (k + 1) * T * size;
        for (int64_t t = 0; t < T; t++) {
            const double along = dot(z, y + t * m, m);
            for (int64_t j = 0; j < m; j++) after[t * m + j] = before[t * m + j] - along * z[j];
            for (int64_t j = 0; j < size; j++) w_after[t * size + j] = w_before[t * size + j] - along * d[j];
        }
        for (int64_t j = 0; j < m; j++) after[T * m + j] = before[T * m + j] - z[j] * z[j];
    }
}

/* Sums of the squared leave-one-out residuals of `count` sizes, and of their squares around their part of the
 * sum, which is `share` of it; infinite without room in p. `losses` has room for m. */
PUBLIC EVERY_WIDTH void sum_squares(int64_t m, int64_t T, int64_t count, double room, const double *share,
                                    const double *rp, double *losses, double *errors, double *around) {
    for (int64_t k = 0; k < count; k++, rp += (T + 1) * m) {
        const double *p = rp + T * m;
        int tight = 0;
        for (int64_t t = 0; t < T; t++)
            for (int64_t j = 0; j < m; j++) {
                const double e = rp[t * m + j] / (p[j] > room ? p[j] : room);
                losses[j] = (t ? losses[j] : 0.0) + e * e;
            }
        for (int64_t j = 0; j < m; j++) tight |= !(p[j] > room);
        const double sum = sum_of(losses, m);
        for (int64_t j = 0; j < m; j++) losses[j] -= sum * share[j];
        errors[k] = tight ? INFINITY : sum;
        around[k] = dot(losses, losses, m);
    }
}

/* The same of mistakes, of weights `v`: `ZeroOne.weighted`. `marks`, T x m, tell the own class of each sample by a one
 * among zeros, or are one target of +-1; `space` has room for 2 m. */
PUBLIC EVERY_WIDTH void sum_mistakes(int64_t m, int64_t T, int64_t count, double room, const double *marks,
                                     const double *g, const double *v, const double *blur, const double *rp,
                                     double *space, double *errors, double *around) {
    double *restrict ahead = space, *restrict least = space + m;
    for (int64_t k = 0; k < count; k++, rp += (T + 1) * m) {
        const double *p = rp + T * m, times = T > 1 ? 2.0 : 1.0;
        int tight = 0;
        for (int64_t t = 0; t < T; t++)
            for (int64_t j = 0; j < m; j++) {
                const double r = rp[t * m + j];
                ahead[j] = (t ? ahead[j] : 0.0) + marks[t * m + j] * r;
                least[j] = t && least[j] < r ? least[j] : r;
            }
        for (int64_t j = 0; j < m; j++) {
            const double left = times * g[j] * (p[j] > room ? p[j] : room) - blur[k] * g[j];
            ahead[j] = ahead[j] - (T > 1 ? least[j] : 0.0) >= left ? v[j] : 0.0;
            tight |= !(p[j] > room);
        }
        const double sum = sum_of(ahead, m);
        take_off(ahead, sum, v, m);
        errors[k] = tight ? INFINITY : sum;
        around[k] = dot(ahead, ahead, m);
    }
}

/* Choose, and the numbers of the path: w, (size + 1) x T x size, errors and what is around them, size + 1. */
PUBLIC void search_forward(int64_t m, int64_t n, int64_t T, int64_t size, double alpha, double once_more,
                           const double *guards, const double *X, const double *y, const double *p,
                           const double *floor, const double *squares, const double *share, double *work, int64_t *at,
                           double *w, double *errors, double *around) {
    choose_forward(m, n, T, size, alpha, guards, X, y, p, floor, squares, work, at);
    const int64_t k = at[0];
    double *rows = work, *rp = rows + k * (m + k), *space = rp + (k + 1) * (T + 1) * m;
    memset(rows, 0, k * (m + k) * sizeof(double));
    for (int64_t i = 0; i < k; i++) memcpy(rows + i * (m + k), X + at[2 + i] * m, m * sizeof(double));
    memset(w, 0, T * k * sizeof(double));
    memcpy(rp, y, T * m * sizeof(double));
    memcpy(rp + T * m, p, m * sizeof(double));
    extend_basis(m, k, 0, k, alpha, once_more, rows, space);
    stand_at(m, T, k, 0, k, rows, y, rp, w);
    sum_squares(m, T, k + 1, guards[0], share, rp, space, errors, around);
}
