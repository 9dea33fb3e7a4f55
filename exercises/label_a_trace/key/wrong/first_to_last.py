"""Takes all from the start of the first label to the end of the last.

expects: from the first label to the last
points: 9.5
"""


# %% count
def count(rows, label):
    marks = [row for row in rows if row.name == label]
    calls, flops = {}, 0
    if marks:
        whole = marks[0]._replace(start=min(m.start for m in marks), end=max(m.end for m in marks))
        for row in rows:
            if row.name != label and belongs(row, whole, rows):
                calls[row.name] = calls.get(row.name, 0) + 1
                flops += row.flops if row.name in PRODUCTS else 0
    return calls, flops


def covers(outer, inner):
    return outer.start <= inner.start and inner.end <= outer.end


def belongs(row, mark, rows):
    if not covers(mark, row):
        return False
    if row.thread == mark.thread or row.name.startswith(VISIT):
        return True
    return any(covers(visit, row) for visit in rows if visit.thread == row.thread and visit.name.startswith(VISIT))
