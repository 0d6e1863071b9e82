"""examples/train_gpt.py on torch's DataLoader alone. After a kill it trains on different rows."""

import os
import sys
import tempfile

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

LENGTH, BATCH, STEPS, SAVE_EVERY, WIDTH, HEADS = 32, 8, 100, 10, 32, 2


def write_data(folder):
    """Write token files; a token is a byte in a text."""
    rng = np.random.default_rng(0)
    words = ["the", "a", "cat", "dog", "bird", "tree", "sees", "likes", "hears", "and", "but", "then"]
    for split, count in {"train": 3000, "val": 500}.items():
        text = " ".join(rng.choice(words, count))
        np.frombuffer(text.encode(), np.uint8).astype(np.uint16).tofile(f"{folder}/{split}.bin")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        q, k, v = self.attention(self.norm1(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(mixed.transpose(1, 2).flatten(2))
        return x + self.feed(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(256, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks, self.norm = nn.Sequential(Block(), Block()), nn.LayerNorm(WIDTH)

    def forward(self, x, y):
        """Return the loss for the next tokens y after each x."""
        hidden = self.blocks(self.token(x) + self.position.weight[: x.shape[1]])
        logits = self.norm(hidden) @ self.token.weight.T
        return F.cross_entropy(logits.flatten(0, 1), y.flatten())


class Rows(Dataset):
    def __init__(self, path):
        self.tokens = np.memmap(path, np.uint16, "r")

    def __len__(self):
        return (len(self.tokens) - 1) // LENGTH

    def __getitem__(self, index):
        row = torch.from_numpy(self.tokens[index * LENGTH : (index + 1) * LENGTH + 1].astype(np.int64))
        return row[:-1], row[1:]


def loaders(folder):
    generator = torch.Generator().manual_seed(1)
    return (
        DataLoader(Rows(f"{folder}/train.bin"), BATCH, shuffle=True, drop_last=True, generator=generator),
        DataLoader(Rows(f"{folder}/val.bin"), BATCH),
    )


def main(folder):
    torch.manual_seed(0)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1)
    train, val = loaders(folder)
    parts = {"model": model, "optimizer": optimizer}
    step, path = 0, f"{folder}/checkpoint.pt"
    if os.path.exists(path):
        saved = torch.load(path)
        step = saved["step"]
        for name, part in parts.items():
            part.load_state_dict(saved[name])
    while step < STEPS:
        for x, y in train:  # int64 [8, 32] each
            loss = model(x, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % SAVE_EVERY == 0 or step == STEPS:
                save(path, step, parts)
            if step == STEPS:
                break
        print(f"step {step}: loss {estimate(model, val):.3f}", flush=True)


def save(path, step, parts):
    states = {name: part.state_dict() for name, part in parts.items()}
    torch.save({**states, "step": step}, f"{path}.new")
    os.replace(f"{path}.new", path)


@torch.no_grad()
def estimate(model, loader):
    return np.mean([model(x, y).item() for x, y in loader])


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as made:
            write_data(made)
            main(made)
