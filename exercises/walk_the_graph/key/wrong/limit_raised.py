"""Calls itself, and raises Python's limit for that.

expects: `users_first` raises Python's limit
points: 9.5
"""


# %% users_first
def users_first(result):
    import sys

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000_000)
    order, seen = [], set()

    def visit(value):
        if value not in seen:
            seen.add(value)
            for parent in value.parents:
                visit(parent)
            order.append(value)

    try:
        visit(result)
    finally:
        sys.setrecursionlimit(before)
    return order[::-1]
