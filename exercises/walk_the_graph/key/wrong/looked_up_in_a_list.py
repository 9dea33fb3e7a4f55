"""Looks in the list whether a value is there already.

expects: `users_first` takes too long for a graph thirty thousand deep
points: 9.5
"""


# %% users_first
def users_first(result):
    finished, seen, todo = [], [], [(result, False)]
    while todo:
        value, parents_done = todo.pop()
        if parents_done:
            finished.append(value)
        elif value not in seen:
            seen.append(value)
            todo.append((value, True))
            todo.extend((parent, False) for parent in value.parents)
    return finished[::-1]
