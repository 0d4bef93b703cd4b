"""Writes the stand-in's definition of each plain function of cuBLAS, from its declaration.

Each line of the list describes a family of names by a pattern of the name without the suffix _64:
the kernel, the size of its work, and what a declaration does not contain:

    NAME-PATTERN KERNEL (ROWS, COLUMNS, …) [PARAMETER=ROWS…] [types=PARAMETER,…] [increments=any]

PARAMETER=ROWS gives the rows of the matrix with this leading dimension; without it they are m, or n
if there is no m. types names the parameters whose element types are the last arguments, by default
A; with "each" the type follows each vector. With increments=any the distance between elements may
be 0.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass, field
from pathlib import Path

import cuda_headers

DECLARATION = re.compile(r"\bcublasStatus_t\s+CUBLASWINAPI\s+(\w+)\s*\(([^)]*)\)\s*;")
LINE = re.compile(r"(?P<names>\S+)\s+(?P<kernel>\w+)\s+\((?P<spread>[^)]*)\)(?P<rest>.*)")
CHECKS = {
    "cublasOperation_t": "Operation",
    "cublasFillMode_t": "Fill",
    "cublasSideMode_t": "Side",
    "cublasDiagType_t": "Diagonal",
}
COUNTS = {"m": "Extent", "n": "Extent", "batchCount": "Extent"}
COUNTS |= {"k": "Inner", "kl": "Inner", "ku": "Inner"}
SCALARS = {"alpha", "beta", "c", "s"}


@dataclass
class Family:
    names: re.Pattern[str]
    kernel: str
    spread: str
    rows: dict[str, str] = field(default_factory=dict)
    types: list[str] = field(default_factory=lambda: ["A"])
    increments: str = "Increment"


@dataclass
class Parameter:
    type: str  # as declared, without the name
    name: str

    @property
    def element(self) -> str:
        """The type at the end of the pointer."""
        return re.sub(r"\bconst\b|[*\s]|\[\]", "", self.type)

    @property
    def is_pointer(self) -> bool:
        return "*" in self.type


def read_families(path: Path) -> list[Family]:
    families = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        if match is None:
            raise SystemExit(
                f"{path}:{number}: a line is NAMES KERNEL (SPREAD) and what else holds"
            )
        family = Family(re.compile(match["names"]), match["kernel"], match["spread"])
        # Values may contain blanks: a value ends before the next name with "=".
        for name, value in re.findall(r"(\w+)=(.*?)(?=\s+\w+=(?!=)|\s*$)", match["rest"]):
            if name == "types":
                family.types = value.split(",")
            elif name == "increments":
                family.increments = "Number"
            else:
                family.rows[name] = value
        families.append(family)
    return families


def read_parameters(text: str) -> list[Parameter]:
    parameters = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(.*?)(\w+)\s*((?:\[\])?)\s*", part, re.DOTALL)
        assert match is not None, part
        parameters.append(
            Parameter(" ".join(match[1].split()) + ("*" if match[3] else ""), match[2])
        )
    return parameters


def steps(family: Family, parameters: list[Parameter]) -> list[str]:
    """Returns the calls that record the arguments, in the order of the declaration."""
    by_name = {parameter.name: parameter for parameter in parameters}
    default_rows = "m" if "m" in by_name else "n"
    made = []
    for parameter in parameters[1:]:
        name = parameter.name
        if name in SCALARS and parameter.is_pointer:
            given = f"{name}Type" in by_name
            of = f"{name}Type" if given else f"kDataType<{parameter.element}>"
            made.append(f"Scalar({name}, {of})")
        elif name == "result":
            continue
        elif parameter.is_pointer:
            made.append(f"Array({name})")
            if family.types == ["each"] and parameter.element != "void":
                made.append(f"Type(kDataType<{parameter.element}>)")
        elif parameter.type in CHECKS:
            made.append(f"{CHECKS[parameter.type]}({name})")
        elif parameter.type == "cudaDataType":
            if name.lower() != "executiontype" and name.removesuffix("Type") not in SCALARS:
                made.append(f"Type({name})")
        elif name.startswith("inc"):
            made.append(f"{family.increments}({name})")
        elif name.startswith("ld"):
            made.append(f"Leading({name}, {family.rows.get(name, default_rows)})")
        elif name.startswith("stride"):
            made.append(f"Stride({name})")
        else:
            made.append(f"{COUNTS[name]}({name})")
    if family.types != ["each"]:
        made += [f"Type(kDataType<{by_name[name].element}>)" for name in family.types]
    return [*made, f"Spread({family.spread})", end(by_name)]


def end(by_name: dict[str, Parameter]) -> str:
    if "result" not in by_name:
        return "Launch()"
    size = "sizeof *result"
    if by_name["result"].element == "void":
        size = "BytesOf(resultType)"
    return f"LaunchForResult(result, {size})"


def used_names(parameters: str) -> str:
    """Returns the parameters on one line; executionType is not used, so it gets no name."""
    return re.sub(
        r"\b(cudaDataType) executionType\b", r"\1", " ".join(parameters.split()), flags=re.I
    )


def write(families: list[Family], text: str) -> str:
    written: dict[str, str] = {}
    used: set[int] = set()
    for name, parameters in DECLARATION.findall(text):
        for place, family in enumerate(families):
            if not family.names.fullmatch(name.removesuffix("_64")):
                continue
            used.add(place)
            chain = "".join(
                f"\n      .{step}" for step in steps(family, read_parameters(parameters))
            )
            written[name] = (
                f"cublasStatus_t CUBLASWINAPI {name}({used_names(parameters)}) {{\n"
                f'  return Call(handle, "{family.kernel}"){chain};\n'
                f"}}\n"
            )
    unused = [family.names.pattern for i, family in enumerate(families) if i not in used]
    if unused:
        raise SystemExit(f"no declaration has these names: {', '.join(unused)}")
    return "".join(written.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", type=Path, action="append", required=True)
    parser.add_argument("--header", action="append", required=True)
    parser.add_argument("--list", type=Path, required=True)
    parser.add_argument("--calls", type=Path, required=True)
    options = parser.parse_args()
    text = cuda_headers.read(options.include, options.header)
    options.calls.write_text(write(read_families(options.list), text))


if __name__ == "__main__":
    main()
