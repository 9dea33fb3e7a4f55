"""Returns numbers and runs nothing.

expects: does not run the model
points: 6.5
"""


# %% validate
def validate(model, batches, criterion):
    return 1.0


# %% fit
def fit(model, train_once, validate_once, scheduler, epochs):
    history = []
    for _ in range(epochs):
        history.append((train_once(), validate_once()))
        scheduler.step()
    return history
