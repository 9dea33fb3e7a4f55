"""Takes the first of what it found, though it may have found nothing.

expects: takes item 0 of an empty list
points: 9
"""


# %% first_nonfinite
def first_nonfinite(model, x):
    handles, made, sound = [], [], {}

    def watch(name, module):
        def before_it_runs(module, inputs):
            sound[name] = all_finite(inputs)

        def after_it_ran(module, inputs, output):
            if sound[name] and not all_finite(output):
                made.append(name)

        handles.append(module.register_forward_pre_hook(before_it_runs))
        handles.append(module.register_forward_hook(after_it_ran))

    try:
        for name, module in model.named_modules():
            if not list(module.children()):
                watch(name, module)
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
    return made[0]


def all_finite(value):
    if isinstance(value, (tuple, list)):
        return all(map(all_finite, value))
    return not isinstance(value, torch.Tensor) or bool(value.isfinite().all())
