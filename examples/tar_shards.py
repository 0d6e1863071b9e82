"""Stream tar shards in WebDataset's format: images and their JSON, in random order, resumable.

    python examples/tar_shards.py [SHARD ...]

Without shards it writes four first, in a temporary folder. Needs `pip install pillow`.
"""

import io
import json
import pathlib
import sys
import tarfile
import tempfile

import numpy as np

import pipeline


def write_shards(folder):
    """Write 400 images, each in a single colour named in its JSON."""
    rng = np.random.default_rng(0)
    for shard in range(4):
        with tarfile.open(folder / f"{shard:04}.tar", "w") as archive:
            for number in range(100):
                colour = rng.integers(0, 3)
                image = np.zeros((16, 16, 3), np.uint8)
                image[..., colour] = rng.integers(100, 256, (16, 16))
                for extension, data in (
                    ("png", pipeline.encode_png(image)),
                    ("json", json.dumps({"colour": int(colour), "shard": shard}).encode()),
                ):
                    member = tarfile.TarInfo(f"{shard}-{number:03}.{extension}")
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
    return f"{folder}/{{0000..0003}}.tar"


def main(paths):
    def loop():
        source = pipeline.webdataset(paths, columns=["png", "json"], shuffle=True, seed=1)
        return pipeline.shuffle_batch(source, 20, min_after_dequeue=60, seed=1, deterministic=True)

    right, state = 0, None
    with loop() as batches:
        for step, batch in enumerate(batches, 1):  # uint8 [20, 16, 16, 3], and a dict of int64 [20]
            right += (batch["png"].mean(axis=(1, 2)).argmax(axis=1) == batch["json"]["colour"]).sum()
            if step == 10:  # as if the program ended here
                state = batches.state_dict()
                break
    resumed = loop()
    resumed.load_state_dict(state)
    with resumed:
        for batch in resumed:
            right += (batch["png"].mean(axis=(1, 2)).argmax(axis=1) == batch["json"]["colour"]).sum()
    print(f"{right} of {resumed.delivered[1]} colours right, half of them after a resume")


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1:])
    else:
        with tempfile.TemporaryDirectory() as made:
            main(write_shards(pathlib.Path(made)))
