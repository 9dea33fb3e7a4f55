"""Decides by time alone.

expects: counts rows of the data loader: at the same time
points: 8
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
    return covers(mark, row)
