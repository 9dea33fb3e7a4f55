"""Lists only values that have parents.

expects: the leaves are missing from the order
points: 9.75
"""


# %% users_first
def users_first(result):
    finished, seen, todo = [], set(), [(result, False)]
    while todo:
        value, parents_done = todo.pop()
        if parents_done:
            finished.append(value)
        elif value not in seen and value.parents:
            seen.add(value)
            todo.append((value, True))
            todo.extend((parent, False) for parent in value.parents)
    return finished[::-1]
