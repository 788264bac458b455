"""Guests of a few dozen bytes that say on their serial lines what a test wants said.

An ELF file with a PVH entry, as QEMU starts it on a q35: 32-bit code that writes texts to ttyS0 (the console) and
ttyS1 (the agent's channel), waits for an answer there, and then resets or hangs.
"""

import json
import struct

BASE = 0x100000
CODE = 0x1000
CONSOLE, AGENT = 0x3F8, 0x2F8


def message(**fields):
    payload = json.dumps(fields).encode()
    return struct.pack("<I", len(payload)) + payload


def hello(**changes):
    fields = {"type": "agent-hello", "major": 1, "minor": 0, "build": "fake", "clocksource": "tsc", "cpus": 1,
              "high_resolution_timers": True, **changes}
    return say(AGENT, message(**fields))


def run(seq, **metrics):
    samples = [{"metric": name, "value": value} for name, value in metrics.items()]
    return say(AGENT, message(type="run-started", seq=seq)
               + message(type="run-finished", seq=seq, started_ns=seq, samples=samples))


def started(seq):
    return say(AGENT, message(type="run-started", seq=seq))


def finished(seq, variants):
    """One of these samples (a power of two of them), by the plan that the guest has read: each plan has its own."""
    texts = [message(type="run-finished", seq=seq, started_ns=seq,
                     samples=[{"metric": name, "value": value} for name, value in metrics.items()]) for metrics in variants]
    assert len({len(text) for text in texts}) == 1 and len(texts) & (len(texts) - 1) == 0
    return ("say one", AGENT, texts)


def done(runs):
    return say(AGENT, message(type="agent-done", runs=runs))


def error(seq, text):
    return say(AGENT, message(type="agent-error", seq=seq, message=text))


def say(port, text):
    return ("say", port, text if isinstance(text, bytes) else text.encode())


def console(text):
    return say(CONSOLE, text)


def perhaps(one_in, *steps):
    """Steps that are taken in one boot of so many (a power of two), as the clock's low bits will have it."""
    size = sum(len(_code(step, 0)) for step in steps)
    return ("together", ("unless", one_in - 1, size), *steps)


# What tells kab-host that a kernel can speak on a microvm (common/kernel_image.cpp).
MICROVM_DRIVERS = ("data", b"virtio_mmio.device\0virtio_console\0")
TRIPLE_FAULT = ("triple fault",)  # a reset without a word; also on a machine without a reset port

AWAIT_PLAN = ("await", AGENT)  # at least its first byte
READ_FRAME = ("read frame", AGENT)  # a whole message of the host; by its bytes finished() chooses
RESET = ("reset",)
HANG = ("hang",)


def _code(step, address):
    if step[0] in ("say", "say one"):
        _, port, text = step
        choice = b""
        if step[0] == "say one":
            choice = (b"\x89\xe8\xc1\xe8\x10\x25" + struct.pack("<I", len(text) - 1)  # mov eax, ebp; shr eax, 16; and eax, mask
                      + b"\x69\xc0" + struct.pack("<I", len(text[0])) + b"\x01\xc6")  # imul eax, length; add esi, eax
            text = text[0]
        return (b"\xbe" + struct.pack("<I", address) + choice   # mov esi, text
                + b"\xb9" + struct.pack("<I", len(text))        # mov ecx, length
                + b"\x66\xba" + struct.pack("<H", port + 5)     # again: mov dx, line status
                + b"\xec\xa8\x20\x74\xfb"                       # wait until the transmitter is empty
                + b"\x66\xba" + struct.pack("<H", port)         # mov dx, data
                + b"\xac\xee\xe2\xef")                          # lodsb; out dx, al; loop again
    if step[0] == "await":
        return b"\x66\xba" + struct.pack("<H", step[1] + 5) + b"\xec\xa8\x01\x74\xfb"  # wait until there is input
    if step[0] == "unless":
        return (b"\x0f\x31\xc1\xe8\x06\xa8" + struct.pack("B", step[1])  # rdtsc; shr eax, 6; test al, mask
                + b"\x0f\x85" + struct.pack("<i", step[2]))              # jnz over the rest
    if step[0] == "data":
        return b"\xeb" + struct.pack("B", len(step[1])) + step[1]  # jump over it
    if step[0] == "triple fault":
        zero = b"\xc7\x05" + struct.pack("<II", 0x7000, 0) + b"\xc7\x05" + struct.pack("<II", 0x7004, 0)
        return zero + b"\x0f\x01\x1d" + struct.pack("<I", 0x7000) + b"\xcc"  # lidt of nothing, then int3
    if step[0] == "read frame":
        byte = (b"\x66\xba" + struct.pack("<H", step[1] + 5)   # mov dx, line status
                + b"\xec\xa8\x01\x74\xfb"                      # wait until there is input
                + b"\x66\xba" + struct.pack("<H", step[1]) + b"\xec")  # mov dx, data; in al, dx
        return (b"\xb9\x04\x00\x00\x00" + byte                # mov ecx, 4
                + b"\xc1\xe0\x18\xc1\xeb\x08\x09\xc3\xe2\xe8"  # shl eax, 24; shr ebx, 8; or ebx, eax; loop: the length
                + b"\x89\xd9\xbd" + struct.pack("<I", 2166136261)  # mov ecx, ebx; mov ebp, the offset of FNV-1a
                + byte + b"\x0f\xb6\xc0\x31\xc5\x69\xed" + struct.pack("<I", 16777619)  # xor ebp, al; imul ebp, its prime
                + b"\xe2\xe5")                                 # as many bytes
    if step[0] == "reset":
        return b"\xb0\x06\x66\xba" + struct.pack("<H", 0xCF9) + b"\xee\xf4\xeb\xfd"
    return b"\xf4\xeb\xfd"  # hlt for ever


def build(*steps):
    """The ELF file of a guest that takes these steps."""
    steps = [part for step in steps for part in (step[1:] if step[0] == "together" else (step,))]
    size = 1 + sum(len(_code(step, 0)) for step in steps)
    code, texts = b"\xfc", b""
    for step in steps:
        code += _code(step, BASE + CODE + size + len(texts))
        if step[0] == "say":
            texts += step[2]
        elif step[0] == "say one":
            texts += b"".join(step[2])
    body = code + texts
    note = struct.pack("<III", 4, 8, 18) + b"Xen\0" + struct.pack("<Q", BASE + CODE)
    at = 64 + 2 * 56
    total = CODE + len(body)
    header = b"\x7fELF\x02\x01\x01" + b"\0" * 9 + struct.pack(
        "<HHIQQQIHHHHHH", 2, 62, 1, BASE + CODE, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 7, 0, BASE, BASE, total, total, 0x1000)
    notes = struct.pack("<IIQQQQQQ", 4, 4, at, BASE + at, BASE + at, len(note), len(note), 4)
    return (header + load + notes + note).ljust(CODE, b"\0") + body
