"""Keeps what was seen in a default argument, which outlives the call.

expects: a second call of `users_first` on the same graph
points: 9.75
"""

# ruff: noqa: B006


# %% users_first
def users_first(result, seen=set()):
    finished, todo = [], [(result, False)]
    while todo:
        value, parents_done = todo.pop()
        if parents_done:
            finished.append(value)
        elif value not in seen:
            seen.add(value)
            todo.append((value, True))
            todo.extend((parent, False) for parent in value.parents)
    return finished[::-1]
