"""Puts the rows of all cycles into one list.

expects: return a list for each cycle
points: 9.25
"""

from torch.profiler import profile, schedule


# %% record
def record(run, wait, warmup, active, repeat):
    cycles = []

    def keep(prof):
        cycles.extend(rows_of(prof))

    plan = schedule(wait=wait, warmup=warmup, active=active, repeat=repeat)
    with profile(activities=ACTIVITIES, schedule=plan, on_trace_ready=keep, with_flops=True) as prof:
        for _ in range(repeat * (wait + warmup + active)):
            run()
            prof.step()
    return [cycles]
