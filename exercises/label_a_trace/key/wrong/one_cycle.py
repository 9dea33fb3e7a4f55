"""Runs the steps of one cycle.

expects: runs the steps of one cycle
points: 8.75
"""

from torch.profiler import profile, schedule


# %% record
def record(run, wait, warmup, active, repeat):
    cycles = []

    def keep(prof):
        cycles.append(rows_of(prof))

    plan = schedule(wait=wait, warmup=warmup, active=active, repeat=repeat)
    with profile(activities=ACTIVITIES, schedule=plan, on_trace_ready=keep, with_flops=True) as prof:
        for _ in range(wait + warmup + active):
            run()
            prof.step()
    return cycles
