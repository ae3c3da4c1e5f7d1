"""`python -m tests.yardsticks support|retrieval FILE.jsonl… [--json]`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.yardsticks import retrieval, support

YARDSTICKS = {"support": support, "retrieval": retrieval}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.yardsticks", description=__doc__)
    parser.add_argument("what", choices=YARDSTICKS)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    chosen = YARDSTICKS[asked.what]
    found = chosen.measured(asked.files)
    print(json.dumps(found, ensure_ascii=False) if asked.json else "\n".join(chosen.told(found)))


if __name__ == "__main__":
    main()
