"""Sorts by the longest way from the result, and goes over all below a value again for each longer one it finds.

expects: each time that it finds a longer way there
points: 9.5
"""


# %% users_first
def users_first(result):
    depth, todo = {result: 0}, [result]
    while todo:
        value = todo.pop()
        for parent in value.parents:
            if depth.get(parent, -1) < depth[value] + 1:
                depth[parent] = depth[value] + 1
                todo.append(parent)
    return sorted(depth, key=depth.get)
