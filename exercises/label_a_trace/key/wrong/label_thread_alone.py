"""Looks at the thread of the label alone.

expects: looks at the label's thread alone
points: 8.5
"""


# %% count
def count(rows, label):
    calls, flops = {}, 0
    for row in rows:
        if row.name != label and any(belongs(row, mark, rows) for mark in rows if mark.name == label):
            calls[row.name] = calls.get(row.name, 0) + 1
            flops += row.flops if row.name in PRODUCTS else 0
    return calls, flops


def covers(outer, inner):
    return outer.start <= inner.start and inner.end <= outer.end


def belongs(row, mark, rows):
    return covers(mark, row) and row.thread == mark.thread
