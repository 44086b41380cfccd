# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What every recording keeps: it tells of each sample how it ended."""

import collections


def reasons_against(recording, samples, pending=0):
    """Where the summary and the file differ from an exact account: all that
    was wanted is whole or has a reason, and nothing waits any more."""
    summary = recording.summary
    ends = {code: n for code, n in summary["end"].items() if n}
    found = collections.Counter(s.get("end") for s in samples)
    no_user = ends.get("no-user", 0)
    wanted = sum(ends.values()) - no_user
    against = [] if recording.status == 0 else [recording.log]
    if summary["wanted"] != wanted or wanted + no_user != summary["samples"]:
        against.append("%(wanted)d wanted of %(samples)d samples" % summary)
    if dict(found) != ends:
        against.append("file %s, summary %s" % (dict(found), ends))
    if ends.get("pending", 0) > pending:
        against.append("%d pending" % ends["pending"])
    return against


def exact(bench, name, recording, samples, pending=0):
    """One test: the account is exact. Return: whether it is."""
    against = reasons_against(recording, samples, pending)
    bench.note("%s: %d samples, %s; lost %s" % (
        name, len(samples),
        {c: n for c, n in recording.summary["end"].items() if n},
        {c: n for c, n in recording.summary["lost"].items() if n}))
    return bench.test(name + ": each sample is whole or has its reason",
                      samples and not against, "\n".join(against))
