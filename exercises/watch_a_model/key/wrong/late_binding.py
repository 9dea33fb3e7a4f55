"""Makes its hooks in a loop, and all of them see the name it ended with.

expects: sees the loop's variable as it is at the end
points: 7.5
"""


# %% first_nonfinite
def first_nonfinite(model, x):
    handles, made, sound = [], [], {}

    try:
        for name, module in model.named_modules():
            if not list(module.children()):

                def before_it_runs(module, inputs):
                    sound[module] = all_finite(inputs)

                def after_it_ran(module, inputs, output):
                    if sound[module] and not all_finite(output):
                        made.append(name)  # noqa: B023

                handles.append(module.register_forward_pre_hook(before_it_runs))
                handles.append(module.register_forward_hook(after_it_ran))
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
    return made[0] if made else None


def all_finite(value):
    if isinstance(value, (tuple, list)):
        return all(map(all_finite, value))
    return not isinstance(value, torch.Tensor) or bool(value.isfinite().all())
