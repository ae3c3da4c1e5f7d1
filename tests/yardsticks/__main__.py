"""`python -m tests.yardsticks support|retrieval|conflicts FILE.jsonl… [--json]`, or
`answers|stories [FILE.jsonl…] [--half seen|unseen] [--json]`, or `figures [--half seen|unseen] [--json]`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.yardsticks import answers, conflicts, figures, retrieval, stories, support

YARDSTICKS = {
    "support": support,
    "retrieval": retrieval,
    "conflicts": conflicts,
    "answers": answers,
    "stories": stories,
    "figures": figures,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.yardsticks", description=__doc__)
    parser.add_argument("what", choices=YARDSTICKS)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--half", choices=("seen", "unseen"), help="answers, stories and figures alone")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if asked.what in ("answers", "stories"):
        found = YARDSTICKS[asked.what].measured(asked.files, asked.half)
    elif asked.what == "figures" and not asked.files:
        found = figures.measured(asked.half)
    elif asked.half or not asked.files:
        parser.error(f"{asked.what} needs files, and has no halves")
    else:
        found = YARDSTICKS[asked.what].measured(asked.files)
    told = YARDSTICKS[asked.what].told(found)
    print(json.dumps(found, ensure_ascii=False) if asked.json else "\n".join(told))


if __name__ == "__main__":
    main()
