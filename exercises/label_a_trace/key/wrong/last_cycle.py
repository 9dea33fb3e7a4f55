"""Reads the rows when all is over.

expects: returns the last cycle alone
points: 9.25
"""

from torch.profiler import profile, schedule


# %% record
def record(run, wait, warmup, active, repeat):
    plan = schedule(wait=wait, warmup=warmup, active=active, repeat=repeat)
    with profile(activities=ACTIVITIES, schedule=plan, with_flops=True) as prof:
        for _ in range(repeat * (wait + warmup + active)):
            run()
            prof.step()
    return [rows_of(prof)]
