"""Keeps what each module returned, and reads it when the run is over, in the order of definition.

expects: goes by the order in which modules are defined
points: 9
"""


# %% first_nonfinite
def first_nonfinite(model, x):
    seen, handles = {}, []

    def keep(name):
        return lambda module, inputs, output: seen.update({name: (inputs, output)})

    for name, module in model.named_modules():
        if not list(module.children()):
            handles.append(module.register_forward_hook(keep(name)))
    try:
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
    for name, _ in model.named_modules():
        if name in seen and all_finite(seen[name][0]) and not all_finite(seen[name][1]):
            return name
    return None


def all_finite(value):
    if isinstance(value, (tuple, list)):
        return all(map(all_finite, value))
    return not isinstance(value, torch.Tensor) or bool(value.isfinite().all())
