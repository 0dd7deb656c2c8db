"""Writes the wheel of Toolcrib around a program that is built already.

    python3 wheel.py PROGRAM VERSION PLATFORM OUT

PLATFORM is what Node calls it, such as linux-x64. What the package is called and described as stands in pyproject.toml beside
this file, which is what a build from source with maturin reads too.
"""

import base64
import hashlib
import pathlib
import re
import sys
import tomllib
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# The same bytes from the same program, whenever it is run.
LONG_AGO = (1980, 1, 1, 0, 0, 0)


def tag(program: bytes, platform: str) -> str:
    """The platform as Python's package index names it."""
    system, machine = platform.split("-")
    if system == "win32":
        return "win_amd64"
    if system == "darwin":
        return {"x64": "macosx_10_12_x86_64", "arm64": "macosx_11_0_arm64"}[machine]
    # The oldest C library that has every symbol version the program asks for.
    asked = {(int(a), int(b)) for a, b in re.findall(rb"\bGLIBC_(\d+)\.(\d+)\b", program)}
    major, minor = max(asked | {(2, 17)})
    return f"manylinux_{major}_{minor}_" + {"x64": "x86_64", "arm64": "aarch64"}[machine]


def metadata(project: dict, version: str) -> str:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"Keywords: {','.join(project['keywords'])}",
        f"License-Expression: {project['license']['text']}",
        "License-File: LICENSE-MIT",
        "License-File: LICENSE-APACHE",
        f"Requires-Python: {project['requires-python']}",
        "Description-Content-Type: text/markdown",
    ]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return "\n".join(lines) + "\n\n" + readme


def main() -> None:
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    program, version, platform, out = sys.argv[1:]
    program = pathlib.Path(program).read_bytes()
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, where = project["name"], tag(program, platform)
    info = f"{name}-{version}.dist-info"
    file = name + (".exe" if platform.startswith("win32") else "")
    about = f"Wheel-Version: 1.0\nGenerator: toolcrib\nRoot-Is-Purelib: false\nTag: py3-none-{where}\n"
    members = [
        (f"{name}-{version}.data/scripts/{file}", program, 0o755),
        (f"{info}/METADATA", metadata(project, version).encode(), 0o644),
        (f"{info}/WHEEL", about.encode(), 0o644),
    ]
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        members.append((f"{info}/licenses/{licence}", (ROOT / licence).read_bytes(), 0o644))
    record = []
    for path, content, _ in members:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(content)}\n")
    record.append(f"{info}/RECORD,,\n")
    members.append((f"{info}/RECORD", "".join(record).encode(), 0o644))
    wheel = pathlib.Path(out) / f"{name}-{version}-py3-none-{where}.whl"
    wheel.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path, content, mode in members:
            entry = zipfile.ZipInfo(path, LONG_AGO)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    print(wheel)


main()
