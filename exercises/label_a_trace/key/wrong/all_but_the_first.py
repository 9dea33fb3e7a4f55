"""Takes off one product of the first layer, whatever is frozen.

expects: though nothing below wants it
points: 9.5
"""


# %% predict
def predict(b, layers, input_grad=False):
    products = [2 * b * inputs * outputs for inputs, outputs, _ in layers]
    backward = sum(
        n * (bool(trained) + (i > 0 or input_grad))
        for i, (n, (_, _, trained)) in enumerate(zip(products, layers, strict=True))
    )
    return sum(products), backward
