"""Keeps the order on the value, and forgets to turn what it kept.

expects: that of a later call on the same graph is not
points: 9.75
"""


# %% users_first
def users_first(result):
    if hasattr(result, "order"):
        return result.order
    finished, seen, todo = [], set(), [(result, False)]
    while todo:
        value, parents_done = todo.pop()
        if parents_done:
            finished.append(value)
        elif value not in seen:
            seen.add(value)
            todo.append((value, True))
            todo.extend((parent, False) for parent in value.parents)
    result.order = finished
    return finished[::-1]
