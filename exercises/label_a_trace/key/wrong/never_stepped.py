"""Never tells the profiler where a step ends.

expects: without `prof.step()` the schedule stays where it is
points: 7.5
"""

from torch.profiler import profile, schedule


# %% record
def record(run, wait, warmup, active, repeat):
    cycles = []

    def keep(prof):
        cycles.append(rows_of(prof))

    plan = schedule(wait=wait, warmup=warmup, active=active, repeat=repeat)
    with profile(activities=ACTIVITIES, schedule=plan, on_trace_ready=keep, with_flops=True):
        for _ in range(repeat * (wait + warmup + active)):
            run()
    return cycles
