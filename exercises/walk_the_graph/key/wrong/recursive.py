"""Takes the order from the page: a search that calls itself.

expects: `users_first` calls itself
points: 9.5
"""


# %% users_first
def users_first(result):
    order, seen = [], set()

    def visit(value):
        if value not in seen:
            seen.add(value)
            for parent in value.parents:
                visit(parent)
            order.append(value)

    visit(result)
    return order[::-1]
