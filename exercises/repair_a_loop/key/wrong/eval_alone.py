"""Takes eval() for no_grad.

expects: eval() does not stop that
points: 9.5
"""


# %% validate
def validate(model, batches, criterion):
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    total, rows = 0.0, 0
    for inputs, targets in batches:
        labelled = (targets != criterion.ignore_index).sum().item()
        total += criterion(model(inputs), targets).item() * labelled
        rows += labelled
    for module, mode in modes:
        module.training = mode
    return total / rows
