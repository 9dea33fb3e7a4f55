"""Lists a value as soon as the search comes to it.

expects: along one branch to its end
points: 7.5
"""


# %% users_first
def users_first(result):
    order, seen, todo = [], set(), [result]
    while todo:
        value = todo.pop()
        if value not in seen:
            seen.add(value)
            order.append(value)
            todo.extend(value.parents)
    return order
