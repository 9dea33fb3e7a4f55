"""Takes the largest stable rate for the best.

expects: lies at the border or beyond
points: 9
"""


# %% fastest_rate
def fastest_rate(h):
    return largest_stable_rate(h)
