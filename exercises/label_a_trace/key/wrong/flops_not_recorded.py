"""Does not count FLOPs.

expects: the rows of `record` have no FLOPs
points: 9.75
"""

from torch.profiler import profile, schedule


# %% record
def record(run, wait, warmup, active, repeat):
    cycles = []

    def keep(prof):
        cycles.append(rows_of(prof))

    plan = schedule(wait=wait, warmup=warmup, active=active, repeat=repeat)
    with profile(activities=ACTIVITIES, schedule=plan, on_trace_ready=keep) as prof:
        for _ in range(repeat * (wait + warmup + active)):
            run()
            prof.step()
    return cycles
