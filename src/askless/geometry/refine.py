"""One label's interval, refined by one step: the ladder of bounds that a search climbs as far as it must.

The steps of a small label:

    scan -> inverse of the Gram matrix -> active set on the Gram matrix -> the same with inner products in float64
         -> projection of the vectors

and of a large one:

    scan -> kept separating directions -> column generation on the vectors, until settled
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askless.geometry.active_set import axpy, dot, place_of_largest, products
from askless.geometry.bounds import gather, gram_bounds, span_bounds
from askless.geometry.index import keep_direction
from askless.geometry.jit import part
from askless.geometry.pricing import ROUNDOFF, height_of, row_products
from askless.geometry.project import nearest_example, nearest_point, project_twice
from askless.geometry.work import EUCLIDEAN, SPHERE, Work, make_work

SCANNED, SPANNED, SOLVED, MEASURED, SETTLED = 0, 1, 2, 3, 4
FIRST = 24  # examples that a projection starts from
REL = 1e-12  # relative slack on an interval from the vectors
NEARLY = 1.0 + 1e-7  # how much further than the bound the point may lie that evidence spans
GROUPS = 64  # of values, to find about the largest of all
MEMO = 8  # projections remembered within one search


class Memo(NamedTuple):
    """The last few projections of this search: where to go on from, and the evidence of a guess."""

    slot: NDArray[np.int64]  # which label
    size: NDArray[np.int64]  # how many examples span the point
    picked: NDArray[np.int64]  # (MEMO, k) their positions within the label
    weights: NDArray[np.float64]  # (MEMO, k)
    clock: NDArray[np.int64]  # the entry to overwrite next
    work: Work


@part(allocates=True)
def make_memo(most, d, space):
    """An empty memo for projections onto labels of at most `most` examples."""
    k = min(most, d + 1) + 1
    return Memo(
        np.full(MEMO, -1),
        np.zeros(MEMO, np.int64),
        np.empty((MEMO, k), np.int64),
        np.empty((MEMO, k)),
        np.zeros(1, np.int64),
        make_work(most, d, space),
    )


@part
def recall(memo, i):
    """The memo's entry for label i, or -1."""
    slot = memo.slot
    for m in range(MEMO):
        if slot[m] == i:
            return m
    return -1


@part
def new_entry(memo):
    """The entry of the memo to write next."""
    entry = memo.clock[0] % MEMO
    memo.clock[0] += 1
    return entry


@part(allocates=True, nan=False)
def about_the_largest(x, n, room, top):
    """Write the positions of some `room` of the first n values into `top`, the largest first; returns how many.

    Those that reach `edge`: take the largest of each of 64 groups; it is the one that comes at two thirds of `room`. At
    least so many reach it and seldom many more, of which the last are left out. A sorted list takes longer.
    """
    peaks, edge, count, found = np.full(GROUPS, -np.inf), np.inf, 1, False
    full = n - n % GROUPS
    for j in range(0, full, GROUPS):
        for g in range(GROUPS):
            peaks[g] = x[j + g] if x[j + g] > peaks[g] else peaks[g]
    for g in range(n - full):
        peaks[g] = x[full + g] if x[full + g] > peaks[g] else peaks[g]
    for g in range(GROUPS):
        above = 0
        for h in range(GROUPS):
            above += peaks[h] > peaks[g]
        if above < room - room // 3 and peaks[g] < edge:
            edge = peaks[g]
    most = peaks[place_of_largest(peaks, GROUPS)]
    for j in range(n):
        if x[j] >= edge:
            if x[j] == most and not found:
                top[0], found = j, True
            elif count < room:
                top[count] = j
                count += 1
    return count


@part(allocates=True)
def first_examples(ix, i, y, memo, entry):
    """Where a projection starts: what the last one of this label ended with, and the most promising by the scan."""
    n, at, gw, picked = ix.sizes[i], ix.start[i], ix.gw, memo.picked
    top = np.empty(min(n, FIRST), np.int64)
    promise = y
    if ix.space != SPHERE:  # how far an example lies towards q from the reference vector, rather than how near to q
        promise = memo.work.along
        for j in range(n):
            promise[j] = y[j] - gw[at + j]
    count = about_the_largest(promise, n, top.shape[0], top)
    known = memo.size[entry] if entry >= 0 else 0
    first = np.empty(known + count, np.int64)
    for j in range(known):
        first[j] = picked[entry, j]
    for j in range(count):
        first[known + j] = top[j]
    return first


@part
def reference(ix, i, v):
    """The unit reference vector of a label, for the bounds of a projection on the sphere."""
    d = v.shape[0]
    at, length = ix.start[i], np.sqrt(ix.cc[i])
    if ix.big[i] >= 0:
        for k in range(d):
            v[k] = ix.center[ix.big[i], k] / length
        return
    for k in range(d):
        v[k] = 0.0
    for j in range(at, at + ix.sizes[i]):
        if ix.vw[j] != 0.0:
            row = ix.members[j]
            axpy(ix.vw[j] * ix.scales[row] / length, ix.P[row], v, d)


@part
def lowest(values, at, n):
    """The least of n entries."""
    least = np.inf
    for j in range(at, at + n):
        least = min(least, values[j])
    return least


@part(allocates=True)
def project_slot(ix, i, q, b, eps, stop_low, stop_high, stop_gap, memo):
    """(low, high, done) of one label from the vectors; a large label keeps the direction that was found."""
    at, n, d = ix.start[i], ix.sizes[i], q.shape[0]
    entry = recall(memo, i)
    known = memo.size[entry] if entry >= 0 else 0
    gather(ix, i, b, memo.work.y)
    first = first_examples(ix, i, memo.work.y, memo, entry)
    if entry < 0:
        entry = new_entry(memo)
    v, direction, height = np.zeros(d), np.empty(d), 0.0
    pointed = ix.space == SPHERE and ix.reach[i] < np.inf
    if pointed:
        reference(ix, i, v)
    elif ix.space == SPHERE:
        height = height_of(np.sqrt(ix.cc[i]), lowest(ix.gw, at, n))
    low, high, k, done = project_twice(
        ix.P, ix.scales, ix.squares, ix.members[at : at + n], n, q, ix.space, eps, ix.lean[at : at + n], v, pointed,
        height, first, known, stop_low * (1.0 + 4.0 * REL), stop_high * (1.0 - 4.0 * REL), stop_gap,
        memo.work, memo.picked[entry], memo.weights[entry], direction,
    )  # fmt: skip
    memo.slot[entry], memo.size[entry] = i, k
    if ix.big[i] >= 0 and low > 0.0 and (pointed or ix.space == EUCLIDEAN):
        # in euclidean space low = (<q, u> - max_j <p_j, u>)^2 / 2 for this direction u
        support = dot(q, direction, d) - np.sqrt(2.0 * low) if ix.space == EUCLIDEAN else 0.0
        keep_direction(ix, i, direction, support)
    return low * (1.0 - REL), high * (1.0 + REL), done


@part(allocates=True)
def direction_bound(ix, i, q):
    """A lower bound of c for a large label from the separating directions kept from earlier queries."""
    B, best, supports = ix.big[i], 0.0, ix.supports
    count = ix.used[B, 0]
    along = np.empty(count)
    products(ix.directions[B], count, q, along)
    for u in range(count):
        best = max(best, along[u] - supports[B, u])
    if ix.space == EUCLIDEAN:
        return 0.5 * best * best * (1.0 - REL)
    best = min(best, 1.0)
    return best * best / (1.0 + np.sqrt(1.0 - best * best)) * (1.0 - REL)


@part(allocates=True)
def nearest_slot(ix, i, q, b, eps, memo):
    """c of the nearest example of one label, from the vectors of those that the scan cannot tell from the best."""
    at, n, best, off = ix.start[i], ix.sizes[i], -np.inf, eps * ix.pmax[i]
    members, squares = ix.members, ix.squares
    for j in range(at, at + n):
        row = members[j]
        best = max(best, b[row] if ix.space == SPHERE else b[row] - 0.5 * squares[row])
    close = np.empty(n, np.int64)
    position = np.empty(n, np.int64)
    m = 0
    for j in range(n):
        row = members[at + j]
        if (b[row] if ix.space == SPHERE else b[row] - 0.5 * squares[row]) >= best - 2.0 * off:
            close[m], position[m] = row, j
            m += 1
    entry = new_entry(memo)
    c = nearest_example(ix.P, ix.scales, close, m, q, ix.space, memo.picked[entry], memo.weights[entry])
    memo.picked[entry, 0] = position[memo.picked[entry, 0]]
    memo.slot[entry], memo.size[entry] = i, 1
    return c


@part
def measure(ix, i, q, y):
    """The inner products of one label's examples with the query, in float64."""
    at, n, members, scales = ix.start[i], ix.sizes[i], ix.members, ix.scales
    row_products(ix.P, members[at : at + n], n, q, q.shape[0], y)
    for j in range(n):
        y[j] *= scales[members[at + j]]


@part(allocates=True)
def refine(ix, i, q, qq, b, eps, hulls, stop_low, stop_high, stop_gap, low, high, level, memo):
    """One step for one label: a better interval, and a higher level."""
    if not hulls:
        c = nearest_slot(ix, i, q, b, eps, memo)
        low[i], high[i], level[i] = c * (1.0 - REL), c * (1.0 + REL), SETTLED
        return
    if ix.big[i] >= 0 and level[i] == SCANNED:
        low[i] = max(low[i], direction_bound(ix, i, q))
        level[i] = SPANNED
        return
    finest = (q.shape[0] + 4) * ROUNDOFF * np.sqrt(qq)  # what inner products in float64 are off by
    if ix.big[i] >= 0 or level[i] >= MEASURED or (level[i] == SOLVED and eps <= 2.0 * finest):
        lo, hi, done = project_slot(ix, i, q, b, eps, stop_low, stop_high, stop_gap, memo)
        if not done and not (lo > low[i] or hi < high[i]):  # it stopped where it was: now to the end
            lo, hi, _ = project_slot(ix, i, q, b, eps, np.inf, -1.0, 0.0, memo)
            done = True
        if done:
            low[i], high[i], level[i] = lo, hi, SETTLED
        else:
            low[i], high[i] = max(low[i], lo), min(high[i], hi)
        return
    n = ix.sizes[i]
    y = np.empty(n)
    if level[i] == SOLVED:
        measure(ix, i, q, y)
        lo, hi = gram_bounds(ix, i, y, qq, finest, np.empty(n))
        low[i], high[i], level[i] = max(low[i], lo), min(high[i], hi), MEASURED
        return
    gather(ix, i, b, y)
    if level[i] == SCANNED and ix.lam[i] > 0.0:
        lo, hi = span_bounds(ix, i, y, qq, eps, np.empty(n))
        level[i] = SOLVED if hi < np.inf else SPANNED
    else:
        lo, hi = gram_bounds(ix, i, y, qq, eps, np.empty(n))
        level[i] = SOLVED
    low[i], high[i] = max(low[i], lo), min(high[i], hi)


@part
def explain(ix, i, q, qq, b, eps, hulls, zero, scratch, memo):
    """The evidence of a guess into the memo, its distance from the vectors, and whether the query is inside.

    Where it certainly is not, the weights that the Gram matrix gives are good enough: a point of the hull is what
    they span in any case, and what the scan's rounding does to them changes its distance only to the second order.
    """
    low, high, level, _ = scratch
    undecided = low[i] <= zero < high[i]
    if recall(memo, i) >= 0 and not undecided:
        return
    if not hulls or ix.big[i] >= 0 or undecided or not explain_by_gram(ix, i, q, qq, b, eps, low, high, memo):
        level[i] = max(level[i], MEASURED)
        refine(ix, i, q, qq, b, eps, hulls, np.inf, -1.0, 0.0, low, high, level, memo)


@part(allocates=True)
def explain_by_gram(ix, i, q, qq, b, eps, low, high, memo):
    """The evidence from the Gram matrix; False where that gives no point, as for a query behind all the examples.

    A Gram matrix that is singular up to rounding may give weight to more examples than span a point, or leave out one
    that brings the point nearer: then False, too.
    """
    at, n, room = ix.start[i], ix.sizes[i], memo.picked.shape[1]
    y, a = np.empty(n), np.empty(n)
    gather(ix, i, b, y)
    _, far = gram_bounds(ix, i, y, qq, eps, a)
    k = 0
    for j in range(n):
        k += a[j] > 0.0
    if not far < np.inf or k > room:
        return False
    entry = new_entry(memo)
    picked, weights = memo.picked[entry], memo.weights[entry]
    k = 0
    for j in range(n):
        if a[j] > 0.0:
            picked[k], weights[k] = j, a[j]
            k += 1
    c = nearest_point(ix.P, ix.scales, ix.members[at : at + n], q, ix.space, k, picked, weights)
    if c > high[i] * NEARLY:
        memo.slot[entry] = -1
        return False
    memo.slot[entry], memo.size[entry] = i, k
    high[i] = min(high[i], c * (1.0 + REL))
    low[i] = min(low[i], high[i])
    return True
