"""Adds up the FLOPs of all rows within the label.

expects: take the products, as in PRODUCTS
points: 9.5
"""


# %% count
def count(rows, label):
    calls, flops = {}, 0
    for row in rows:
        if row.name != label and any(belongs(row, mark, rows) for mark in rows if mark.name == label):
            calls[row.name] = calls.get(row.name, 0) + 1
            flops += row.flops
    return calls, flops


def covers(outer, inner):
    return outer.start <= inner.start and inner.end <= outer.end


def belongs(row, mark, rows):
    if not covers(mark, row):
        return False
    if row.thread == mark.thread or row.name.startswith(VISIT):
        return True
    return any(covers(visit, row) for visit in rows if visit.thread == row.thread and visit.name.startswith(VISIT))
