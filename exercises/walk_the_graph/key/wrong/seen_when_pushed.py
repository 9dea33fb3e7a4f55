"""Marks a value as seen when it is pushed, not when its turn comes.

expects: marked as seen when it is put on the list
points: 8
"""


# %% users_first
def users_first(result):
    finished, seen, todo = [], {result}, [(result, False)]
    while todo:
        value, parents_done = todo.pop()
        if parents_done:
            finished.append(value)
            continue
        todo.append((value, True))
        for parent in value.parents:
            if parent not in seen:
                seen.add(parent)
                todo.append((parent, False))
    return finished[::-1]
