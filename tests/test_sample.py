"""The sample of support questions."""

from __future__ import annotations

import re
from collections import Counter

from askless.datasets.sample import support_questions


def test_there_are_enough_labels_and_phrasings():
    texts, labels = support_questions()
    counts = Counter(labels)
    assert len(texts) == len(labels) >= 400
    assert len(counts) >= 24
    assert min(counts.values()) >= 15


def test_no_text_comes_twice_even_in_other_spelling():
    texts, _ = support_questions()
    bare = Counter(re.sub(r"[^a-z0-9]", "", text.lower()) for text in texts)
    assert [text for text, count in bare.items() if count > 1] == []


def test_near_opposites_are_among_the_labels():
    labels = set(support_questions()[1])
    pairs = [
        ("enable notifications", "disable notifications"),
        ("cancel order", "reinstate order"),
        ("card not arrived", "card arrived damaged"),
        ("increase limit", "decrease limit"),
        ("block card", "unblock card"),
    ]
    assert all(one in labels and other in labels for one, other in pairs)


def test_texts_and_labels_are_clean_and_varied():
    texts, labels = support_questions()
    assert all(text == text.strip() and text and text.isprintable() for text in texts)
    assert all(re.fullmatch(r"[a-z]+( [a-z]+)*", label) for label in labels)
    words = [len(text.split()) for text in texts]
    assert min(words) <= 2
    assert max(words) >= 15


def test_the_documented_size_is_the_real_one():
    texts, labels = support_questions()
    assert f"{len(texts)} short questions under {len(set(labels))} labels" in (support_questions.__doc__ or "")
