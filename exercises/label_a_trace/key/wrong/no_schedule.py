"""Records every step.

expects: give the profiler a schedule
points: 8.25
"""

from torch.profiler import profile


# %% record
def record(run, wait, warmup, active, repeat):
    cycles = []

    def keep(prof):
        cycles.append(rows_of(prof))

    with profile(activities=ACTIVITIES, on_trace_ready=keep, with_flops=True) as prof:
        for _ in range(repeat * (wait + warmup + active)):
            run()
            prof.step()
    return cycles
