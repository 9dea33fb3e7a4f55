"""Starts a profiler of its own for the active steps of each cycle.

expects: have no ProfilerStep
points: 9
"""

from torch.profiler import profile


# %% record
def record(run, wait, warmup, active, repeat):
    cycles = []
    for _ in range(repeat):
        for _ in range(wait + warmup):
            run()
        with profile(activities=ACTIVITIES, with_flops=True) as prof:
            for _ in range(active):
                run()
        cycles.append(rows_of(prof))
    return cycles
