"""Crop, flip and normalise JPEG files with each loader: CPU time per image, and images per second.

    python bench/peers/crops.py [--environments FOLDER] [--rounds N]      all, in alternating rounds; prints the table
    python bench/peers/crops.py --one WAY SIZE                            only one, in this Python's environment

Files have 375 x 500, 900 x 1200 and 3000 x 4000 pixels. Results are float32 [3, 224, 224], or uint8 [224, 224, 3]
without the mean and deviation. Each way has two threads or workers. The peers are those in `make bench-peers`; torch
has no torchvision here, so it makes the same calls as torchvision does for tensors and for Pillow images.
"""

import argparse
import io
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from measuring import processor_time, seconds_between

ROOT = Path(__file__).resolve().parents[2]
SIZES = {"375": (375, 500, 60, 64), "900": (900, 1200, 20, 32), "3000": (3000, 4000, 4, 8)}  # size, files, batch size
SIDE, THREADS = 224, 2
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
ENVIRONMENT = {"torch": "torch", "tf.data": "tensorflow", "grain": "grain", "spdl": "spdl", "dali": "dali"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--environments", type=Path, default=ROOT / ".venv-peers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=2, metavar=("WAY", "SIZE"))
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*options.one)))
        sys.stdout.flush()
        os._exit(0)  # without waiting for workers to end
    for size in SIZES:
        generate(size)
    found = {}
    for _ in range(options.rounds):
        for size in SIZES:
            for way in WAYS:
                found.setdefault((way, size), []).append(apart(way, size, options.environments))
    print("| CPU ms an image (images/s) | " + " | ".join(f"{h} x {w}" for h, w, *_ in SIZES.values()) + " |")
    print("|---" * (len(SIZES) + 1) + "|")
    for way in WAYS:
        print(f"| {way} | " + " | ".join(cell(found[way, size]) for size in SIZES) + " |")


def cell(results):
    if failed := [each for each in results if isinstance(each, str)]:
        return failed[0]
    processor, rate = (statistics.median(each[i] for each in results) for i in (0, 1))
    return f"{processor:.2f} ({rate:,.0f})"


def apart(way, size, environments):
    """Measure in the peer's environment; return the result of `measure`, or the reason for its absence."""
    peer = next((name for each, name in ENVIRONMENT.items() if way.startswith(each)), None)
    python = sys.executable if peer is None else str(environments / peer / "bin/python")
    if not Path(python).exists():
        return "not installed"
    command = [python, __file__, "--one", way, size]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, start_new_session=True)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["failed"])[-1][:60]
    return json.loads(done.stdout.splitlines()[-1])


def measure(way, size):
    """Return the CPU time per image in ms, and the images per second."""
    batch = SIZES[size][3]
    batches = WAYS[way](files(size), batch)
    first = np.asarray(next(batches))
    expected = (SIDE, SIDE, 3) if "uint8" in way else (3, SIDE, SIDE)
    if first.shape != (batch, *expected) or first.dtype != ("uint8" if "uint8" in way else "float32"):
        raise ValueError(f"a batch of {first.dtype}{list(first.shape)}")
    next(batches)
    count, start, processor = 0, time.perf_counter(), processor_time()
    while time.perf_counter() < start + 4:
        next(batches)
        count += batch
    took = time.perf_counter() - start
    return seconds_between(processor, processor_time()) / count * 1e3, count / took


def generate(size):
    """Write the files: noise at all scales, as in photographs, with slower changes in colour."""
    import simplejpeg  # other peers need not have it

    height, width, count, _ = SIZES[size]
    for number in range(count):
        name = folder(size) / f"{number % 2}" / f"{number}.jpg"
        if name.exists():
            continue
        name.parent.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng([height, number])
        light, blue, red = (
            scale * noise(rng, height, width, power) for scale, power in ((50, 1.5), (18, 1.7), (18, 1.7))
        )
        light += 127 + 8 * rng.standard_normal((height, width), np.float32)
        image = np.stack((light + 1.4 * red, light - 0.34 * blue - 0.71 * red, light + 1.77 * blue), 2)
        name.write_bytes(simplejpeg.encode_jpeg(image.clip(0, 255).astype(np.uint8), 90, colorsubsampling="420"))


def noise(rng, height, width, power):
    down, across = np.fft.fftfreq(height)[:, None] * height, np.fft.rfftfreq(width) * width
    frequency = np.sqrt(down**2 + across**2)
    frequency[0, 0] = np.inf
    spectrum = rng.standard_normal(frequency.shape) + 1j * rng.standard_normal(frequency.shape)
    field = np.fft.irfft2(spectrum / frequency**power, (height, width)).astype(np.float32)
    return field / field.std()


def folder(size):
    return ROOT / "build/bench-crops" / size


def files(size):
    return sorted(map(str, folder(size).glob("*/*.jpg")))


def box(height, width, rng):
    """Return left, top, width and height, drawn as in torchvision."""
    for _ in range(10):
        area = height * width * rng.uniform(0.08, 1)
        ratio = math.exp(rng.uniform(math.log(3 / 4), math.log(4 / 3)))
        wide, tall = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < wide <= width and 0 < tall <= height:
            return rng.randint(0, width - wide), rng.randint(0, height - tall), wide, tall
    side = min(height, width)
    return (width - side) // 2, (height - side) // 2, side, side


# Ours ---------------------------------------------------------------------------------------------------------------


def ours_floats(example):
    import pipeline

    return pipeline.image.random_resized_crop(example[0], SIDE, mean=MEAN, std=STD, layout="CHW")


def ours_bytes(example):
    import pipeline

    return pipeline.image.random_resized_crop(example[0], SIDE)


def ours(function):
    def batches(names, batch):
        import pipeline

        root = Path(names[0]).parents[1]
        images = pipeline.image_folder(root, None, shuffle=True, seed=1, num_epochs=None)
        return iter(images.map(function, workers=THREADS).batch(batch).prefetch(2))

    return batches


# torch and Grain ----------------------------------------------------------------------------------------------------


def by_pillow(name):
    """Return an image made as by torchvision for Pillow images, float32 [3, 224, 224]."""
    from PIL import Image

    image = Image.open(io.BytesIO(Path(name).read_bytes())).convert("RGB")
    left, top, wide, tall = box(image.height, image.width, random)
    image = image.crop((left, top, left + wide, top + tall)).resize((SIDE, SIDE), Image.BILINEAR)
    if random.random() < 0.5:
        image = image.transpose(Image.FLIP_LEFT_RIGHT)
    values = np.asarray(image).transpose(2, 0, 1).astype(np.float32) / 255
    return (values - np.float32(MEAN)[:, None, None]) / np.float32(STD)[:, None, None]


def by_tensors(name):
    """Return an image made as by torchvision for tensors."""
    import simplejpeg
    import torch

    pixels = simplejpeg.decode_jpeg(Path(name).read_bytes())
    left, top, wide, tall = box(*pixels.shape[:2], random)
    image = torch.from_numpy(pixels[top : top + tall, left : left + wide]).permute(2, 0, 1)[None]
    image = torch.nn.functional.interpolate(image, (SIDE, SIDE), mode="bilinear", antialias=True)[0]
    image = image.flip(-1) if random.random() < 0.5 else image
    image = image.to(torch.float32).div_(255)
    return image.sub_(torch.tensor(MEAN)[:, None, None]).div_(torch.tensor(STD)[:, None, None]).contiguous()


class Files:
    def __init__(self, names, function):
        self.names, self.function = names, function

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        return self.function(self.names[index])


def of_torch(function):
    def batches(names, batch):
        from torch.utils.data import DataLoader

        names = names * -(-512 // len(names))  # to make an epoch long enough
        options = {"shuffle": True, "num_workers": THREADS, "drop_last": True, "persistent_workers": True}
        loader = DataLoader(Files(names, function), batch, **options)
        while True:
            for each in loader:
                yield each.numpy()

    return batches


def of_grain(names, batch):
    import grain

    data = grain.MapDataset.source(names).seed(1).shuffle().repeat().map(by_pillow).batch(batch, drop_remainder=True)
    return iter(data.to_iter_dataset(grain.ReadOptions(num_threads=THREADS, prefetch_buffer_size=2 * batch)))


# The others ---------------------------------------------------------------------------------------------------------


def of_tf(antialias):
    def batches(names, batch):
        import tensorflow as tf

        def image(name):
            data = tf.io.read_file(name)
            begin, size, _ = tf.image.sample_distorted_bounding_box(
                tf.io.extract_jpeg_shape(data),
                tf.zeros([0, 0, 4]),
                aspect_ratio_range=(3 / 4, 4 / 3),
                area_range=(0.08, 1),
                max_attempts=10,
                use_image_if_no_bounding_boxes=True,
            )
            window = tf.concat([begin[:2], size[:2]], 0)
            pixels = tf.io.decode_and_crop_jpeg(data, window, channels=3)
            pixels = tf.image.random_flip_left_right(tf.image.resize(pixels, (SIDE, SIDE), antialias=antialias))
            return tf.transpose((pixels / 255 - MEAN) / STD, [2, 0, 1])

        data = tf.data.Dataset.from_tensor_slices(names).shuffle(len(names)).repeat()
        data = data.map(image, num_parallel_calls=THREADS).batch(batch).prefetch(2)
        options = tf.data.Options()
        options.threading.private_threadpool_size = THREADS
        return iter(data.with_options(options).as_numpy_iterator())

    return batches


def of_spdl(names, batch):
    """Crop with FFmpeg's filters: its bilinear scaling averages the covered area. NumPy normalises."""
    from concurrent.futures import ThreadPoolExecutor

    import spdl.io

    mean, std = np.float32(MEAN)[:, None, None], np.float32(STD)[:, None, None]

    def load(name):
        data = Path(name).read_bytes()
        height, width = jpeg_size(data)
        left, top, wide, tall = box(height, width, random)
        flip = ",hflip" if random.random() < 0.5 else ""
        scale = f"crop={wide}:{tall}:{left}:{top}:exact=1,scale={SIDE}:{SIDE}:flags=bilinear{flip}"
        return spdl.io.decode_packets(spdl.io.demux_image(data), filter_desc=f"{scale},format=pix_fmts=rgb24")

    def load_batch(names):
        pixels = spdl.io.to_numpy(spdl.io.convert_frames([load(name) for name in names]))
        return (pixels.transpose(0, 3, 1, 2).astype(np.float32) / 255 - mean) / std

    order = cycle(names)
    with ThreadPoolExecutor(THREADS) as pool:
        waiting = [pool.submit(load_batch, [next(order) for _ in range(batch)]) for _ in range(THREADS + 1)]
        while True:
            yield waiting.pop(0).result()
            waiting.append(pool.submit(load_batch, [next(order) for _ in range(batch)]))


def jpeg_size(data):
    at = 2
    while not 0xC0 <= data[at + 1] <= 0xC2:
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return int.from_bytes(data[at + 5 : at + 7], "big"), int.from_bytes(data[at + 7 : at + 9], "big")


def of_dali(names, batch):
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(batch_size=batch, num_threads=THREADS, device_id=None, seed=1, prefetch_queue_depth=2)
    def images():
        data, _ = fn.readers.file(files=names, random_shuffle=True)
        crops = fn.decoders.image_random_crop(
            data, device="cpu", random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3], num_attempts=10
        )
        crops = fn.resize(crops, device="cpu", size=[SIDE, SIDE], interp_type=types.INTERP_LINEAR, antialias=True)
        mean, std = [255 * each for each in MEAN], [255 * each for each in STD]
        flip = fn.random.coin_flip()
        form = {"dtype": types.FLOAT, "output_layout": "CHW"}
        return fn.crop_mirror_normalize(crops, device="cpu", mirror=flip, mean=mean, std=std, **form)

    made = images()
    made.build()
    while True:
        yield made.run()[0].as_array()


WAYS = {
    "ours, float32": ours(ours_floats),
    "ours, uint8": ours(ours_bytes),
    "tf.data": of_tf(False),
    "tf.data, antialias": of_tf(True),
    "torch, simplejpeg": of_torch(by_tensors),
    "torch, Pillow": of_torch(by_pillow),
    "grain, Pillow": of_grain,
    "spdl": of_spdl,
    "dali": of_dali,
}

if __name__ == "__main__":
    main()
