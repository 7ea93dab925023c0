"""Write the schema for new SQLite files, as the migrations leave it: python scripts/sqlite_schema.py"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from gossamer.drivers.sqlite.schema import load_migrations, migrate_schema  # noqa: E402

WHOLE = ROOT / "src" / "gossamer" / "drivers" / "sqlite" / "whole"


def make_whole(steps: dict[int, str]) -> str:
    """The schema that these migrations lead to, and the rows that are in a new file."""
    conn = sqlite3.connect(":memory:", isolation_level=None)
    migrate_schema(conn, Path(":memory:"), steps)
    found = [
        row
        for row in conn.execute("SELECT type, name, sql FROM sqlite_master ORDER BY rowid")
        if not row[1].startswith("sqlite_")
    ]
    made = [sql for *_, sql in found]
    tables = [name for kind, name, _ in found if kind == "table"]
    rows = [
        f"INSERT INTO {table} VALUES ({', '.join(map(repr, row))})"
        for table in tables
        for row in conn.execute(f"SELECT * FROM {table}")
    ]
    conn.close()
    head = f"-- Schema {max(steps)}, whole, as `python scripts/sqlite_schema.py` has written it.\n"
    return head + "".join(f"\n{statement};\n" for statement in (*made, *rows))


def main() -> None:
    """Write the file anew, and remove that of the former version."""
    steps = load_migrations()
    WHOLE.mkdir(exist_ok=True)
    for file in WHOLE.glob("*.sql"):
        file.unlink()
    file = WHOLE / f"{max(steps):04}.sql"
    file.write_text(make_whole(steps), encoding="utf-8")
    print(f"{file.relative_to(ROOT)}: schema {max(steps)}")


if __name__ == "__main__":
    main()
