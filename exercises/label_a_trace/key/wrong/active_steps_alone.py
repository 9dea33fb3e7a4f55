"""Runs the active steps alone.

expects: runs the active steps alone
points: 8.75
"""

from torch.profiler import profile, schedule


# %% record
def record(run, wait, warmup, active, repeat):
    cycles = []
    plan = schedule(wait=0, warmup=0, active=active, repeat=repeat)
    with profile(
        activities=ACTIVITIES, schedule=plan, on_trace_ready=lambda p: cycles.append(rows_of(p)), with_flops=True
    ) as prof:
        for _ in range(repeat * active):
            run()
            prof.step()
    return cycles
