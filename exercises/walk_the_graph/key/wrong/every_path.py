"""Forgets what it has seen, and sorts out the copies at the end.

expects: `users_first` does not come to an end for a hundred diamonds
points: 9.5
"""


# %% users_first
def users_first(result):
    order = [result]
    for value in order:
        order.extend(value.parents)
    return list(dict.fromkeys(reversed(order)))[::-1]
