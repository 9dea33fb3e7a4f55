"""Goes level by level, by the shortest way from the result.

expects: level by level
points: 8
"""


# %% users_first
def users_first(result):
    order, seen = [result], {result}
    for value in order:
        for parent in value.parents:
            if parent not in seen:
                seen.add(parent)
                order.append(parent)
    return order
