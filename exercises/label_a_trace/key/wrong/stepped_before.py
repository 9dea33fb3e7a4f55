"""Ends a step before it has run.

expects: call `prof.step()` after run()
points: 9.25
"""

from torch.profiler import profile, schedule


# %% record
def record(run, wait, warmup, active, repeat):
    cycles = []

    def keep(prof):
        cycles.append(rows_of(prof))

    plan = schedule(wait=wait, warmup=warmup, active=active, repeat=repeat)
    with profile(activities=ACTIVITIES, schedule=plan, on_trace_ready=keep, with_flops=True) as prof:
        for _ in range(repeat * (wait + warmup + active)):
            prof.step()
            run()
    return cycles
