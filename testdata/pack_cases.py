#!/usr/bin/env python3
"""Packs the folder of GGUF case files into testdata/cases.tar.xz, the same bytes each time.

    testdata/pack_cases.py FOLDER testdata/cases.tar.xz

FOLDER holds cases.json and the files that it lists. Entries are sorted, with fixed owner, mode and
time. A case whose text says that a file is a symbolic link gets one, also where FOLDER was checked
out without links, as a text file that holds the link's target.
"""

import io
import json
import lzma
import os
import sys
import tarfile

LINK_CASE = "shard_link_to_nothing"


def link_target(folder, name):
    """The target of a case file that must be a symbolic link; None for any other file."""
    path = os.path.join(folder, name)
    if os.path.islink(path):
        return os.readlink(path)
    if name.startswith(LINK_CASE + "/") and os.path.getsize(path) < 256:
        with open(path, encoding="ascii") as file:
            return file.read()
    return None


def tar_entry(name):
    entry = tarfile.TarInfo(name)
    entry.mode = 0o644
    entry.mtime = 0
    return entry


def pack(folder):
    with open(os.path.join(folder, "cases.json"), encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    names = sorted({name for case in cases for name in case["files"]} | {"cases.json"})
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in names:
            entry = tar_entry(name)
            target = link_target(folder, name)
            if target is not None:
                entry.type = tarfile.SYMTYPE
                entry.linkname = target
                tar.addfile(entry)
                continue
            with open(os.path.join(folder, name), "rb") as file:
                content = file.read()
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, output = sys.argv[1:]
    with open(output, "wb") as file:
        file.write(lzma.compress(pack(folder), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
