"""Forgets to turn the finished values round.

expects: the order is backwards
points: 7.5
"""


# %% users_first
def users_first(result):
    finished, seen, todo = [], set(), [(result, False)]
    while todo:
        value, parents_done = todo.pop()
        if parents_done:
            finished.append(value)
        elif value not in seen:
            seen.add(value)
            todo.append((value, True))
            todo.extend((parent, False) for parent in value.parents)
    return finished
