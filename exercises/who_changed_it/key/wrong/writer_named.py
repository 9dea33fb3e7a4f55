"""Names the modules that write, not those whose tensor it was.

expects: `stale` names the module that writes
points: 7
"""


# %% stale
def stale(model, x):
    return [name for name, word in writers(model, x).items() if word == "counted"]
