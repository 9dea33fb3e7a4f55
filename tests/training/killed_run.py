"""A training script that stops where it is told to, so that it can be killed there; see test_checkpoint.py."""

import os
import random
import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from course_lib.training import ArrayLoader, accuracy, fit

EPOCHS = 5


def stop_here():
    """Say so, and wait to be killed."""
    os.write(1, b"here\n")
    sys.stdin.read()


def train(checkpoint, *, kill_at="", seed=0, orders="own"):
    """Train with random orders, dropout, noise, running averages, moments, a plateau and a scaler."""
    torch.manual_seed(seed), np.random.seed(seed), random.seed(seed)
    same = torch.Generator().manual_seed(0)
    data = torch.randn(50, 3, generator=same), torch.randint(0, 4, (50,), generator=same)
    model = nn.Sequential(nn.Linear(3, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(), nn.Linear(16, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    generator = torch.Generator().manual_seed(seed) if orders == "own" else None
    loaders = {
        "own": lambda: DataLoader(TensorDataset(*data), batch_size=8, shuffle=True, generator=generator),
        "global": lambda: DataLoader(
            TensorDataset(*data), batch_size=8, shuffle=True, num_workers=1, persistent_workers=True
        ),
        # Copies: for workers that are not forked torch moves the data, and arrays would look at what was freed.
        "arrays": lambda: ArrayLoader(*(each.numpy().copy() for each in data), batch_size=8, shuffle=True),
    }
    if kill_at == "write":
        save, saved = torch.save, []

        def half(state, file):
            saved.append(save(state, file))
            if len(saved) == 4:
                file.truncate(file.tell() // 2)
                stop_here()

        torch.save = half
    seen = []

    def before_step(model):
        seen.append(random.random() + np.random.random())
        for p in model.parameters():
            p.grad.add_(seen[-1] * 1e-3)
        if kill_at == "epoch" and len(seen) == 17:
            stop_here()

    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, threshold=0.5)
    return model, fit(
        model, loaders[orders](), nn.CrossEntropyLoss(), optimizer, "cpu",
        epochs=EPOCHS, val_loader=loaders["arrays"](), scheduler=plateau, metrics={"accuracy": accuracy},
        before_step=before_step, precision="fp16", checkpoint=checkpoint, progress=False,
    )  # fmt: skip


if __name__ == "__main__":
    path, kill_at, orders, result = sys.argv[1:]
    model, history = train(path, kill_at=kill_at, seed=int(not kill_at), orders=orders)
    torch.save({"model": model.state_dict(), "history": history}, result)
