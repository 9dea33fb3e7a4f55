"""Counts each use, but takes one off for each user.

expects: uses a value twice, values are missing
points: 9.75
"""


# %% users_first
def users_first(result):
    uses, todo = {result: 0}, [result]
    while todo:
        for parent in todo.pop().parents:
            if parent not in uses:
                uses[parent] = 0
                todo.append(parent)
            uses[parent] += 1
    order, ready = [], [result]
    while ready:
        order.append(value := ready.pop())
        for parent in set(value.parents):
            uses[parent] -= 1
            if uses[parent] == 0:
                ready.append(parent)
    return order
