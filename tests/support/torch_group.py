"""Programs in a `torch.distributed` group's processes, started as torchrun does."""

import json
import os
import pathlib
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def in_group(program, world, *arguments, **variables):
    """Run a Python program in this many processes; return each one's last output, as JSON.

    Args:
        program: The program's text. Its arguments are in sys.argv.
        world: The process count.
        arguments: For the program.
        variables: More environment variables.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    processes = []
    for rank in range(world):
        named = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world}
        named |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": 1}
        named |= {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'support'}", **variables}
        environment = {**os.environ, **{name: str(value) for name, value in named.items()}}
        command = [sys.executable, "-W", "ignore", "-c", program, *map(str, arguments)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        processes.append(subprocess.Popen(command, env=environment, cwd=ROOT, text=True, **pipes))
    done = [process.communicate(timeout=240) for process in processes]
    for process, (_, errors) in zip(processes, done, strict=True):
        assert process.returncode == 0, errors
    return [json.loads(output.splitlines()[-1]) for output, _ in done]
