"""Rows in a store stay valid only while the algorithms decide as they did: this is what says when they do not.

A failure here means that a policy, or a stream, gives other results than the rows that people have stored. If that is
meant, raise its number in askless.reproduce.jobs.VERSIONS (or STREAM_VERSION), and write the new counts here.
"""

from __future__ import annotations

import numpy as np
import pytest

from askless.reproduce.jobs import STREAM_VERSION, VERSIONS, Job, SyntheticStream, run_job
from askless.reproduce.paper import Setting

SETTINGS = (Setting("cube", 4, "uniform"), Setting("sphere", 10, "uniform"))

# version, then calls and mistakes on the two settings
COUNTS = {
    "chc": (1, 290, 0, 385, 0),
    "ghc:0.6": (1, 124, 10, 236, 4),
    "ghc-nearest:0.8": (1, 122, 54, 288, 32),
    "cc:25": (1, 172, 38, 117, 67),
    "skm": (1, 7, 227, 25, 228),
    "amp:0.95": (1, 28, 271, 126, 59),
}


@pytest.mark.parametrize("policy", COUNTS)
def test_a_policy_that_decides_otherwise_has_another_version(policy):
    found = [VERSIONS[policy.partition(":")[0]]]
    for setting in SETTINGS:
        job = Job(policy, SyntheticStream(setting, 400, 0, 0))
        row = run_job(job, job.key())
        found += [row["all_calls"], row["mistakes"]]
    assert tuple(found) == COUNTS[policy]


def test_streams_that_come_out_otherwise_have_another_version():
    counts = [np.bincount(SyntheticStream(setting, 400, 0, 0).make().y, minlength=5).tolist() for setting in SETTINGS]
    assert (STREAM_VERSION, *counts) == (1, [81, 57, 100, 105, 57], [84, 108, 64, 80, 64])


def test_every_policy_of_the_tables_has_a_version():
    assert {policy.partition(":")[0] for policy in COUNTS} == set(VERSIONS)
