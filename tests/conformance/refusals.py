"""What the compiled engine refuses, by case: the operator that `NotSupportedError` names.

A case that begins to run, or that is refused for another operator, fails its test until its line here is taken off or
changed. `python -m tests.conformance.refusals` writes the lines anew.
"""

from __future__ import annotations

import re
from pathlib import Path

from cepheid.engine.session import prepare
from cepheid.errors import NotSupportedError
from tests.conformance.cases import CASES
from tests.conformance.notation import Case

# lines begin
REFUSED: dict[str, str] = {}
# lines end


def refusal(case: Case) -> str | None:
    """The operator for which the engine refuses a case; None where it runs."""
    try:
        prepare(case.bound())
    except NotSupportedError as error:
        return error.message.removeprefix("the compiled engine cannot run ").removesuffix(" yet")
    return None


def main() -> None:
    """Write the lines of this file anew."""
    path = Path(__file__)
    refused = {case.name: refusal(case) for case in CASES}
    lines = [f'    "{name}": "{what}",' for name, what in refused.items() if what is not None]
    table = ["REFUSED: dict[str, str] = {", *lines, "}"] if lines else ["REFUSED: dict[str, str] = {}"]
    body = "\n".join(["# lines begin", *table, "# lines end"])
    text = re.sub(r"^# lines begin$.*?^# lines end$", lambda _: body, path.read_text("utf-8"), flags=re.M | re.S)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
