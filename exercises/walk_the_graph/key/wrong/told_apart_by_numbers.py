"""Takes two values with the same numbers for one.

expects: hold the same numbers, values are missing
points: 9.75
"""


# %% users_first
def users_first(result):
    finished, seen, todo = [], set(), [(result, False)]
    while todo:
        value, parents_done = todo.pop()
        if parents_done:
            finished.append(value)
        elif value.data.tobytes() not in seen:
            seen.add(value.data.tobytes())
            todo.append((value, True))
            todo.extend((parent, False) for parent in value.parents)
    return finished[::-1]
