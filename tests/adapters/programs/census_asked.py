"""Requests a census itself, and has `vramstow ctl` request one."""

import ctypes
import os
import subprocess

import torch
import vramstow

early = vramstow.census()
SIZE = 2 * 1024 * 1024


def train() -> None:
    history = [torch.ones(SIZE, device="cuda", requires_grad=True).exp() for _ in range(3)]
    told = vramstow.census()
    print("before CUDA", early)
    for row in told.holders if told is not None else ():
        print(f"asked {row.bytes} {row.blocks} {row.role} {row.holder} ({row.about})")
    for flags in ([], ["--json"]):
        command = [os.environ["VRAMSTOW_PROGRAM"], "ctl", *flags, str(os.getpid()), "census"]
        print(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    text = ctypes.create_string_buffer(b"before", 60)
    print("short", ctypes.PyDLL(None).vramstow_census(text, ctypes.c_size_t(60)), text.value)
    print(len(history))


train()
