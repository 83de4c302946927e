"""The nearest two labels, as far as the question "is ratio <= tau?" needs them.

Every label has an interval [low, high] for c = d^2 / 2. A label can win only if low <= tau^2 * high of some other; the
nearest wins for certain if its high <= tau^2 * low of every other. While neither is settled, the interval that
stands in the way is refined one step further (`refine`). A label whose low >= high of the nearest / tau^2 plays no
part any more. What cannot be told apart in float64 asks.
"""

from __future__ import annotations

import numpy as np

from askless.geometry.active_set import dot
from askless.geometry.bounds import cone_low, first_low, nearest_examples, nearest_row
from askless.geometry.index import opened
from askless.geometry.jit import borrow, hold, kernel, part
from askless.geometry.pricing import keep_largest
from askless.geometry.refine import SCANNED, SETTLED, explain, make_memo, nearest_slot, project_slot, recall, refine
from askless.geometry.work import SPHERE

ASK, GUESS, CONFLICT = 0, 1, 2
ROUGH, FINER = 0.2, 0.1  # relative width at which a projection stops, at first and then
SHOWN = 5  # labels to suggest


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
def plays_no_part(i, low, cut, zero):
    """Whether a label does not contain the query and is too far away to be in anyone's way."""
    return low[i] >= cut and low[i] > zero


@part
def cut_off(best_high, tau2, zero):
    """The c from which on a label plays no part: where it can neither win nor stand in the way of the best."""
    return max(best_high / tau2, zero) if tau2 > 0.0 else zero


@part(allocates=True)
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
    reach, spread, pmax, big, lam, cc = ix.reach, ix.spread, ix.pmax, ix.big, ix.lam, ix.cc
    members, lean, vw, gw, start, sizes = ix.members, ix.lean, ix.vw, ix.gw, ix.start, ix.sizes
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
            if hulls and ix.space == SPHERE:
                floor = lam[i] if big[i] < 0 else 0.0
                low[i] = cone_low(b, members, lean, vw, gw, start[i], sizes[i], high[i], reach[i], cc[i], floor, eps)
            else:
                low[i] = first_low(ix, i, b, qq, eps, hulls, high)
            level[i] = SCANNED
            if plays_no_part(i, low, cut, zero):
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
    m, floor = drop_out(best, best, cut, zero, m, floor, scratch)
    return best, m, floor


@part
def drop_out(best, other, cut, zero, m, floor, scratch):
    """Take the labels that play no part any more out of play, but for two; returns how many are left, and the bound."""
    low, _, _, alive = scratch
    kept = 0
    for t in range(m):
        i = alive[t]
        if i in (best, other) or not plays_no_part(i, low, cut, zero):
            alive[kept] = i
            kept += 1
        else:
            floor = min(floor, low[i])
    return kept, floor


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
            m, floor = drop_out(best, target, cut_off(high[target], tau2, zero), zero, m, floor, scratch)


@part(allocates=True)
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
        open_, may_hold = level[i] != SETTLED, low[i] <= zero
        if may_hold and inside and (high[i] <= zero or not open_):  # a settled one cannot be told from holding it
            conflict = True
        may_win = low[i] <= tau2 * H1 and tau2 > 0.0
        if (may_hold or may_win) and open_ and high[i] > zero and (target < 0 or low[i] < low[target]):
            target = i
    if target >= 0:
        # where the best may still win this one must not only lose, but lie far enough behind it
        enough = H1 / tau2 if tau2 > 0.0 and low[best] <= tau2 * H2 else tau2 * H1
        return target, max(enough, zero), low[best], ASK
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


@kernel
def settle(
    held, labels, query, b, eps, scale, tau, zero, hulls, exact, most, values, marks, numbers, places,
):  # fmt: skip
    """Everything about one query: the status, the best label and the next with their intervals, the labels to suggest,
    the examples that span the nearest point of the best (for a guess), the labels whose hull contains the query.

    `eps` is the error of the scan for vectors of norm 1, `scale` the data's, `zero` what counts as distance zero
    relative to it, `most` the examples of the largest label. `hulls` False measures to the nearest example; `exact`
    settles the nearest two whatever tau. `report` says what stands in `numbers` and `places` afterwards.
    """
    ix = opened(held)
    q, qq, eps, zero = measured(ix, query, eps, scale, zero)
    near, low, high = values[0, :labels], values[1, :labels], values[2, :labels]
    level, alive = marks[0, :labels], marks[1, :labels]
    scratch = (low, high, level, alive)
    nearest_examples(ix, b, qq, eps, near, high)
    likely = nearest_by_high(high, min(SHOWN + 1, labels))
    best = likely[0]
    kept = make_memo(most, q.shape[0], ix.space)
    memo = borrow(kept)
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
    if status == GUESS:
        explain(ix, best, q, qq, b, eps, hulls, zero, scratch, memo)
    slots = suggestions(likely, alive, m, best, high, min(SHOWN, labels))
    found = report(ix, b, status, best, slots, m, floor, zero, near, scratch, memo, numbers, places)
    hold(kept)
    return found


@part(allocates=True)
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
def report(ix, b, status, best, slots, m, floor, zero, near, scratch, memo, numbers, places):
    """What the store makes its answer from: (status, labels to suggest, labels that contain the query, evidence).

    In `numbers`, as distances: low and high of the best, of the nearest other label, then high of the labels to
    suggest; then the weights of the evidence. In `places`: the slots to suggest, the row of the nearest example of
    each, then the rows of the evidence. The slots that contain the query are the first ones in `alive`.
    """
    low, high, _, alive = scratch
    other_low, other_high, holding = np.inf, np.inf, 0
    if slots.shape[0] > 1:
        other_low, other_high = floor, high[slots[1]]
    for t in range(m):
        i = alive[t]
        if i != best:
            other_low = min(other_low, low[i])
        if high[i] <= zero or (status == CONFLICT and low[i] <= zero):
            alive[holding] = i
            holding += 1
    # bounds that come from different steps may cross by rounding
    numbers[0], numbers[1] = np.sqrt(2.0 * min(low[best], high[best])), np.sqrt(2.0 * high[best])
    numbers[2], numbers[3] = np.sqrt(2.0 * min(other_low, other_high)), np.sqrt(2.0 * other_high)
    for t in range(slots.shape[0]):
        numbers[4 + t] = np.sqrt(2.0 * high[slots[t]])
        places[t] = slots[t]
        places[SHOWN + t] = nearest_row(ix, slots[t], b, near)
    entry = recall(memo, best)
    size = memo.size[entry] if entry >= 0 and status == GUESS else 0
    at, members, picked, weights = ix.start[best], ix.members, memo.picked, memo.weights
    for t in range(size):
        numbers[4 + SHOWN + t] = weights[entry, t]
        places[2 * SHOWN + t] = members[at + picked[entry, t]]
    return status, slots.shape[0], holding, size


@part(allocates=True)
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
def all_distances(held, labels, query, b, hulls, eps, most, out):
    """The distance of one query to every label, settled."""
    ix = opened(held)
    q, _, eps, _ = measured(ix, query, eps, 0.0, 0.0)
    kept = make_memo(most, q.shape[0], ix.space)
    memo = borrow(kept)
    for i in range(labels):
        if hulls:
            _, c, _ = project_slot(ix, i, q, b, eps, np.inf, -1.0, 0.0, memo)
        else:
            c = nearest_slot(ix, i, q, b, eps, memo)
        out[i] = np.sqrt(2.0 * c)
    hold(kept)
