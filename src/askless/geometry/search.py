"""The nearest two labels, as far as the question "is ratio <= tau?" needs them.

Every label has an interval [low, high] for c = d^2 / 2. A label can win only if low <= tau^2 * high of some other; the
nearest wins for certain if its high <= tau^2 * low of every other. While neither is settled, the interval that
stands in the way is refined one step further:

    small labels   scan -> inverse of the Gram matrix -> active set on the Gram matrix -> vectors, in float64
    large labels   scan -> kept separating directions -> column generation on the vectors, until settled

A label whose low >= high of the nearest / tau^2 plays no part any more. What cannot be told apart in float64 asks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askless.geometry.active_set import axpy, dot, products
from askless.geometry.bounds import first_low, gather, gram_bounds, nearest_examples, span_bounds
from askless.geometry.index import keep_direction
from askless.geometry.jit import kernel, part
from askless.geometry.project import EUCLIDEAN, SPHERE, keep_largest, nearest_example, project

ASK, GUESS, CONFLICT = 0, 1, 2
SCANNED, SPANNED, SOLVED, SETTLED = 0, 1, 2, 3
FIRST = 40  # examples that a projection starts from
REL = 1e-12  # relative slack on an interval from the vectors
ROUGH, FINER = 0.2, 0.1  # relative width at which a projection stops, at first and then
MEMO = 8  # projections remembered within one search


class Memo(NamedTuple):
    """The last few projections of this search: where to go on from, and the evidence of a guess."""

    slot: NDArray[np.int64]  # which label
    size: NDArray[np.int64]  # how many examples span the point
    picked: NDArray[np.int64]  # (MEMO, k) their positions within the label
    weights: NDArray[np.float64]  # (MEMO, k)
    clock: NDArray[np.int64]  # the entry to overwrite next


@part
def make_memo(k):
    """An empty memo for projections spanned by at most k examples."""
    return Memo(
        np.full(MEMO, -1),
        np.zeros(MEMO, np.int64),
        np.empty((MEMO, k), np.int64),
        np.empty((MEMO, k)),
        np.zeros(1, np.int64),
    )


@part
def recall(memo, i):
    """The memo's entry for label i, or -1."""
    for m in range(MEMO):
        if memo.slot[m] == i:
            return m
    return -1


@part
def first_examples(ix, i, b, memo, entry):
    """Where a projection starts: what the last one of this label ended with, and the most promising by the scan."""
    n = ix.sizes[i]
    room = min(n, FIRST)
    values, top = np.empty(room), np.empty(room, np.int64)
    at, count = ix.start[i], 0
    for j in range(n):
        row = ix.members[at + j]
        x = b[row] if ix.space == SPHERE else b[row] - 0.5 * ix.squares[row]
        count = keep_largest(x, j, values, top, count)
    known = memo.size[entry] if entry >= 0 else 0
    first = np.empty(known + count, np.int64)
    for j in range(known):
        first[j] = memo.picked[entry, j]
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
def project_slot(ix, i, q, b, eps, stop_low, stop_high, stop_gap, memo):
    """(low, high, done) of one label from the vectors; a large label keeps the direction that was found."""
    at, n, d = ix.start[i], ix.sizes[i], q.shape[0]
    entry = recall(memo, i)
    known = memo.size[entry] if entry >= 0 else 0
    first = first_examples(ix, i, b, memo, entry)
    if entry < 0:
        entry = memo.clock[0] % MEMO
        memo.clock[0] += 1
    v, direction = np.zeros(d), np.empty(d)
    pointed = ix.space == SPHERE and ix.reach[i] < np.inf
    if pointed:
        reference(ix, i, v)
    low, high, k, done = project(
        ix.P, ix.scales, ix.squares, ix.members[at : at + n], n, q, ix.space, b, eps, ix.lean[at : at + n], v, pointed,
        first, known, stop_low, stop_high, stop_gap, memo.picked[entry], memo.weights[entry], direction,
    )  # fmt: skip
    memo.slot[entry], memo.size[entry] = i, k
    if ix.big[i] >= 0 and low > 0.0 and (pointed or ix.space == EUCLIDEAN):
        # in euclidean space low = (<q, u> - max_j <p_j, u>)^2 / 2 for this direction u
        support = dot(q, direction, d) - np.sqrt(2.0 * low) if ix.space == EUCLIDEAN else 0.0
        keep_direction(ix, i, direction, support)
    return low * (1.0 - REL), high * (1.0 + REL), done


@part
def direction_bound(ix, i, q):
    """A lower bound of c for a large label from the separating directions kept from earlier queries."""
    B, best = ix.big[i], 0.0
    count = ix.used[B, 0]
    along = np.empty(count)
    products(ix.directions[B], count, q, along)
    for u in range(count):
        best = max(best, along[u] - ix.supports[B, u])
    if ix.space == EUCLIDEAN:
        return 0.5 * best * best * (1.0 - REL)
    best = min(best, 1.0)
    return best * best / (1.0 + np.sqrt(1.0 - best * best)) * (1.0 - REL)


@part
def nearest_slot(ix, i, q, b, eps, memo):
    """c of the nearest example of one label, from the vectors of those that the scan cannot tell from the best."""
    at, n, best, off = ix.start[i], ix.sizes[i], -np.inf, eps * ix.pmax[i]
    for j in range(at, at + n):
        row = ix.members[j]
        best = max(best, b[row] if ix.space == SPHERE else b[row] - 0.5 * ix.squares[row])
    close = np.empty(n, np.int64)
    position = np.empty(n, np.int64)
    m = 0
    for j in range(n):
        row = ix.members[at + j]
        if (b[row] if ix.space == SPHERE else b[row] - 0.5 * ix.squares[row]) >= best - 2.0 * off:
            close[m], position[m] = row, j
            m += 1
    entry = memo.clock[0] % MEMO
    memo.clock[0] += 1
    c = nearest_example(ix.P, ix.scales, close, m, q, ix.space, memo.picked[entry], memo.weights[entry])
    memo.picked[entry, 0] = position[memo.picked[entry, 0]]
    memo.slot[entry], memo.size[entry] = i, 1
    return c


@part
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
    if ix.big[i] >= 0 or level[i] >= SOLVED:
        lo, hi, done = project_slot(ix, i, q, b, eps, stop_low, stop_high, stop_gap, memo)
        if done:
            low[i], high[i], level[i] = lo, hi, SETTLED
        else:
            low[i], high[i] = max(low[i], lo), min(high[i], hi)
        return
    n = ix.sizes[i]
    y = np.empty(n)
    gather(ix, i, b, y)
    if level[i] == SCANNED and ix.lam[i] > 0.0:
        lo, hi = span_bounds(ix, i, y, qq, eps, np.empty(n))
        level[i] = SOLVED if hi < np.inf else SPANNED
    else:
        lo, hi = gram_bounds(ix, i, y, qq, eps)
        level[i] = SOLVED
    low[i], high[i] = max(low[i], lo), min(high[i], hi)


@part
def leaders(alive, m, low, high):
    """The label with the smallest high, the one with the second smallest, and of all but the first the least low."""
    best, second, rival = alive[0], -1, -1
    for t in range(1, m):
        if high[alive[t]] < high[best]:
            best = alive[t]
    for t in range(m):
        i = alive[t]
        if i != best:
            if second < 0 or high[i] < high[second]:
                second = i
            if rival < 0 or low[i] < low[rival]:
                rival = i
    return best, second, rival


@part
def plays_no_part(i, low, high, level, cut, zero):
    """Whether a label does not contain the query and is too far away to be in anyone's way."""
    return low[i] >= cut and (low[i] > zero or (level[i] == SETTLED and high[i] > zero))


@part
def cut_off(best_high, tau2, zero):
    """The c from which on a label plays no part: where it can neither win nor stand in the way of the best."""
    return max(best_high / tau2, zero) if tau2 > 0.0 else zero


@part
def nearest_by_high(high, room):
    """The labels with the smallest high, nearest first."""
    values, slots = np.empty(room), np.empty(room, np.int64)
    count, worst = 0, np.inf
    for i in range(high.shape[0]):
        if count < room or high[i] < worst:
            count = keep_largest(-high[i], i, values, slots, count)
            worst = -values[count - 1]
    return slots[:count]


@part
def labels_in_play(ix, b, qq, eps, hulls, tau2, zero, best, scratch):
    """List the labels that the scan does not rule out; returns how many, and a lower bound of c of all others."""
    low, high, level, alive = scratch
    cut = cut_off(high[best], tau2, zero)
    reach, spread, pmax = ix.reach, ix.spread, ix.pmax
    m = 0
    for i in range(high.shape[0]):
        if i != best and hulls:  # c > cut by the nearest example alone
            if ix.space == SPHERE:  # s <= reach * max_j b_j, or max_j b_j where that is negative
                top = 1.0 - high[i] + 2.0 * eps
                if 1.0 - max(top, top * reach[i]) > cut:
                    continue
            else:  # no point of the hull is further than the spread from all its examples
                d = np.sqrt(2.0 * max(0.0, high[i] - 2.0 * eps * pmax[i])) - spread[i]
                if d > 0.0 and 0.5 * d * d > cut:
                    continue
        if i != best:
            low[i] = first_low(ix, i, b, qq, eps, hulls, high)
            level[i] = SCANNED
            if plays_no_part(i, low, high, level, cut, zero):
                continue
        alive[m] = i
        m += 1
    return m, cut


@part
def look_once(ix, q, qq, b, eps, tau2, zero, best, m, floor, scratch, memo):
    """One cheap step for every small label that may still win; returns the nearest, how many are in play, the bound."""
    low, high, level, alive = scratch
    cut = cut_off(high[best], tau2, zero)
    for t in range(m):
        i = alive[t]
        if ix.big[i] < 0 and level[i] == SCANNED and low[i] <= max(tau2 * high[best], zero):
            refine(ix, i, q, qq, b, eps, True, np.inf, -1.0, 0.0, low, high, level, memo)
            if high[i] < high[best]:
                best, cut = i, cut_off(high[i], tau2, zero)
    kept = 0
    for t in range(m):
        i = alive[t]
        if i == best or not plays_no_part(i, low, high, level, cut, zero):
            alive[kept] = i
            kept += 1
        else:
            floor = min(floor, low[i])
    return best, kept, floor


@part
def settle_labels(ix, q, qq, b, eps, tau2, zero, hulls, best, m, floor, scratch, memo):
    """Refine the m labels in play until the intervals answer: (status, best, labels in play, bound of the others)."""
    low, high, level, alive = scratch
    while True:
        best, second, rival = leaders(alive, m, low, high)
        target, stop_low, stop_high, status = next_step(
            alive, m, high.shape[0], low, high, level, best, second, rival, tau2, zero
        )
        if target < 0:
            return status, best, m, floor
        before = high[best]
        # the first look at a large label is a rough one; later ones go on from there, each much finer than the last
        gap = (high[target] - low[target]) / high[target] if high[target] > 0.0 else 0.0
        stop_gap = ROUGH if recall(memo, target) < 0 else FINER * gap
        refine(ix, target, q, qq, b, eps, hulls, stop_low, stop_high, stop_gap, low, high, level, memo)
        if high[target] < before:  # a nearer best: others may drop out
            cut, kept = cut_off(high[target], tau2, zero), 0
            for t in range(m):
                i = alive[t]
                if i in (best, target) or not plays_no_part(i, low, high, level, cut, zero):
                    alive[kept] = i
                    kept += 1
                else:
                    floor = min(floor, low[i])
            m = kept


@part
def settle_exactly(ix, q, qq, b, eps, hulls, scratch, memo):
    """Settle every label that may be among the nearest two; returns the nearest."""
    low, high, level, alive = scratch
    for i in range(high.shape[0]):
        low[i] = first_low(ix, i, b, qq, eps, hulls, high)
        level[i] = SCANNED
        alive[i] = i
    while True:
        nearest = nearest_by_high(high, 2)
        cut = high[nearest[-1]] if nearest.shape[0] == 2 else np.inf
        target = -1
        for i in range(high.shape[0]):
            if level[i] != SETTLED and low[i] <= cut and (target < 0 or low[i] < low[target]):
                target = i
        if target < 0:
            return nearest[0]
        refine(ix, target, q, qq, b, eps, hulls, cut, -1.0, 0.0, low, high, level, memo)


@part
def next_step(alive, m, labels, low, high, level, best, second, rival, tau2, zero):
    """Which label to refine, until which bound; or -1 and the status that the intervals settle."""
    H1 = high[best]
    H2 = high[second] if second >= 0 else np.inf
    inside = zero >= H1
    # a label other than the best that may still contain the query, or still win
    target, conflict = -1, False
    for t in range(m):
        i = alive[t]
        if i == best:
            continue
        open_ = level[i] != SETTLED
        may_hold = low[i] <= zero and (open_ or high[i] <= zero)
        if may_hold and high[i] <= zero and inside:
            conflict = True
        may_win = low[i] <= tau2 * H1 and tau2 > 0.0
        if (may_hold or may_win) and open_ and high[i] > zero and (target < 0 or low[i] < low[target]):
            target = i
    if target >= 0:
        return target, max(tau2 * H1, zero), low[best], ASK
    if conflict:
        return -1, 0.0, 0.0, CONFLICT
    # from here on only the best can win
    rl = low[rival] if rival >= 0 else np.inf  # the labels out of play are far enough already
    if inside:
        return -1, 0.0, 0.0, GUESS
    if labels >= 2 and tau2 > 0.0 and tau2 * rl >= H1:
        return -1, 0.0, 0.0, GUESS
    open_best = level[best] != SETTLED
    best_may = (low[best] <= zero and open_best) or (tau2 > 0.0 and labels >= 2 and low[best] <= tau2 * H2)
    if not best_may:
        return -1, 0.0, 0.0, ASK
    return next_of_two(alive, m, low, high, level, best, second, rl, tau2, zero)


@part
def next_of_two(alive, m, low, high, level, best, second, rl, tau2, zero):
    """Only the best can win: refine it, or another that stands in its way, whichever is known less well.

    The second nearest comes before the others: if it is near enough the answer is to ask, and nothing else matters.
    """
    block = -1
    if tau2 > 0.0:
        if second >= 0 and level[second] != SETTLED and tau2 * low[second] < high[best]:
            block = second
        else:
            for t in range(m):
                i = alive[t]
                in_the_way = i != best and level[i] != SETTLED and tau2 * low[i] < high[best]
                if in_the_way and (block < 0 or low[i] < low[block]):
                    block = i
    H2 = high[second] if second >= 0 else np.inf
    if level[best] != SETTLED:
        wider = block < 0 or (high[best] - low[best]) * high[block] >= (high[block] - low[block]) * high[best]
        if wider or level[best] < level[block] or low[best] <= zero:
            stop_low = max(tau2 * H2, zero) if tau2 > 0.0 else zero
            return best, stop_low, max(tau2 * rl, zero) if rl < np.inf else zero, ASK
    if block >= 0:
        return block, high[best] / tau2, low[best] / tau2, ASK
    return -1, 0.0, 0.0, ASK


@part
def closest_example(ix, i, b):
    """The row of a label's nearest example, by the scan."""
    at = ix.start[i]
    best, top = ix.members[at], -np.inf
    for j in range(at, at + ix.sizes[i]):
        row = ix.members[j]
        x = b[row] - 0.5 * ix.squares[row]
        if x > top:
            best, top = row, x
    return best


@kernel
def settle(ix, labels, query, b, eps, scale, tau, zero, hulls, exact, shown, most, low_, high_, level_, alive_):
    """Everything about one query: the status, the best label and the next with their intervals, the labels to suggest,
    the examples that span the nearest point of the best (for a guess), the labels whose hull contains the query.

    `eps` is the error of the scan for vectors of norm 1, `scale` the data's, `zero` what counts as distance zero
    relative to it, `most` the examples of the largest label. `hulls` False measures to the nearest example; `exact`
    settles the nearest two whatever tau.
    """
    q, qq, eps, zero = measured(ix, query, eps, scale, zero)
    low, high, level, alive = low_[:labels], high_[:labels], level_[:labels], alive_[:labels]
    scratch = (low, high, level, alive)
    nearest_examples(ix, b, qq, eps, high)
    likely = nearest_by_high(high, min(shown + 1, labels))
    best = likely[0]
    memo = make_memo(min(most, q.shape[0] + 1) + 1)
    tau2 = tau * tau
    if exact:
        best = settle_exactly(ix, q, qq, b, eps, hulls, scratch, memo)
        m, floor = labels, np.inf
    else:
        low[best] = first_low(ix, best, b, qq, eps, hulls, high)
        level[best] = SCANNED
        if ix.big[best] < 0:  # a good first bound keeps the list of labels in play short
            refine(ix, best, q, qq, b, eps, hulls, np.inf, -1.0, 0.0, low, high, level, memo)
        m, floor = labels_in_play(ix, b, qq, eps, hulls, tau2, zero, best, scratch)
        if hulls:
            best, m, floor = look_once(ix, q, qq, b, eps, tau2, zero, best, m, floor, scratch, memo)
    status, best, m, floor = settle_labels(ix, q, qq, b, eps, tau2, zero, hulls, best, m, floor, scratch, memo)
    if status == GUESS and (recall(memo, best) < 0 or low[best] <= zero < high[best]):  # evidence, and whether inside
        level[best] = max(level[best], SOLVED)
        refine(ix, best, q, qq, b, eps, hulls, np.inf, -1.0, 0.0, low, high, level, memo)
    slots = suggestions(likely, alive, m, best, high, min(shown, labels))
    return report(ix, b, status, best, slots, m, floor, zero, scratch, memo)


@part
def measured(ix, query, eps, scale, zero):
    """The query in float64, of norm 1 on the sphere; its square; the scan's error; zero as d^2 / 2."""
    d = query.shape[0]
    q = np.empty(d)
    for k in range(d):
        q[k] = query[k]
    qq = dot(q, q, d)
    norm = np.sqrt(qq)
    if ix.space == SPHERE:
        for k in range(d):
            q[k] /= norm
        return q, 1.0, eps, 0.5 * zero * zero
    zero *= max(scale, norm)
    return q, qq, eps * norm, 0.5 * zero * zero


@part
def report(ix, b, status, best, slots, m, floor, zero, scratch, memo):
    """What the store makes its answer from, as distances: low and high of the best, and of the nearest other label."""
    low, high, _, alive = scratch
    found, rows = np.full(4, np.inf), np.empty(slots.shape[0], np.int64)
    found[0], found[1] = low[best], high[best]
    if slots.shape[0] > 1:
        found[2], found[3] = floor, high[slots[1]]
    inside, holding = np.empty(m, np.int64), 0
    for t in range(m):
        i = alive[t]
        if i != best:
            found[2] = min(found[2], low[i])
        if high[i] <= zero:
            inside[holding] = i
            holding += 1
    for t in range(slots.shape[0]):
        rows[t] = closest_example(ix, slots[t], b)
    entry = recall(memo, best)
    size = memo.size[entry] if entry >= 0 and status == GUESS else 0
    span, weights = np.empty(size, np.int64), np.empty(size)
    for t in range(size):
        span[t] = ix.members[ix.start[best] + memo.picked[entry, t]]
        weights[t] = memo.weights[entry, t]
    return status, slots, np.sqrt(2.0 * found), np.sqrt(2.0 * high[slots]), rows, inside[:holding], span, weights


@part
def suggestions(likely, alive, m, best, high, room):
    """The nearest labels by what is known: the best, then of those in play and those likely by the scan the nearest."""
    values, slots = np.empty(room), np.empty(room, np.int64)
    count = keep_largest(np.inf, best, values, slots, 0)
    for t in range(m + likely.shape[0]):
        i = alive[t] if t < m else likely[t - m]
        known = i == best
        for u in range(count):
            known = known or slots[u] == i
        if not known:
            count = keep_largest(-high[i], i, values, slots, count)
    return slots[:count]


@kernel
def all_distances(ix, labels, query, b, hulls, eps, out):
    """The distance of one query to every label, settled."""
    q, _, eps, _ = measured(ix, query, eps, 0.0, 0.0)
    memo = make_memo(q.shape[0] + 2)
    for i in range(labels):
        if hulls:
            _, c, _ = project_slot(ix, i, q, b, eps, np.inf, -1.0, 0.0, memo)
        else:
            c = nearest_slot(ix, i, q, b, eps, memo)
        out[i] = np.sqrt(2.0 * c)
