"""Reading 500 MB of AWS's price list: in less than 150 MB of memory, and faster than gpuhunt where that is there.

The file is made of lines as long as the real ones (about 900 bytes, 95 columns), of which one in two hundred is a
machine on demand on Linux, and lies in the temporary folder while it is read. Seconds are of the processor.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from benchmarks.measure import PYTHON, ROOT

FILE_BYTES = 500_000_000
LIMIT_MB = 150
COLUMNS = (
    *(
        "SKU",
        "OfferTermCode",
        "RateCode",
        "TermType",
        "PriceDescription",
        "EffectiveDate",
        "StartingRange",
        "EndingRange",
    ),
    *("Unit", "PricePerUnit", "Currency", "RelatedTo", "LeaseContractLength", "PurchaseOption", "OfferingClass"),
    *("Product Family", "serviceCode", "Location", "Location Type", "Instance Type", "vCPU", "Memory", "Tenancy"),
    *("Operating System", "CapacityStatus", "Pre Installed S/W", "Region Code", "GPU", "MarketOption"),
    *(f"Attribute {n}" for n in range(66)),
)
PEAK = """
def peak_mb():  # of this program alone: ru_maxrss would still count the one that started it
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
"""
OURS = """
import sys, time
from pathlib import Path
from sizewell.clouds.download import lines
from sizewell.clouds.prices import aws
from sizewell.sizing import catalog
types = frozenset(s.instance_type for s in catalog.load().shapes if s.cloud == "aws")
started = time.process_time()
rows = sum(1 for _ in aws.machines(lines("aws", Path(sys.argv[1])), types))
print(time.process_time() - started, peak_mb(), rows)
"""
THEIRS = """
import csv, sys, time
from gpuhunt.providers import aws
provider = aws.AWSProvider.__new__(aws.AWSProvider)
started = time.process_time()
with open(sys.argv[1], newline="") as file:
    for _ in range(aws.DISCLAIMER_ROWS_SKIP):
        file.readline()
    rows = sum(not provider._skip(row) for row in csv.DictReader(aws._prefilter_rows(file)))
print(time.process_time() - started, peak_mb(), rows)
"""


def main() -> int:
    """Print seconds and memory of both readers; 1 where ours takes too much of either."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.csv"
        write(path)
        ours = measured(OURS, path)
        theirs = measured(THEIRS, path)
    assert ours is not None
    seconds, megabytes, rows = ours
    print(f"   price list: {seconds:.1f} s, {megabytes:.0f} MB (limit {LIMIT_MB}), {rows:,.0f} machines")
    if theirs is None:
        print("   gpuhunt is not installed: nothing to compare with")
        return int(megabytes > LIMIT_MB)
    print(f"   gpuhunt: {theirs[0]:.1f} s, {theirs[1]:.0f} MB, {theirs[2]:,.0f} machines")
    return int(megabytes > LIMIT_MB or seconds > theirs[0])


def write(path: Path, size: int = FILE_BYTES) -> None:
    """A file of the list's form: reserved terms, other systems and tenancies, and among them the machines."""
    facts = ("FormatVersion", "v1.0"), ("Disclaimer", ""), ("Publication Date", "2026-11-20"), ("Version", "1")
    head = "".join(f'"{name}","{value}"\n' for name, value in (*facts, ("OfferCode", "AmazonEC2")))
    kinds = ("g6.xlarge", "p5.48xlarge", "m5.large", "c7g.4xlarge")
    plain = {name: f"value {name}"[:12] for name in COLUMNS}
    common = {"Unit": "Hrs", "PricePerUnit": "1.2345678900", "Currency": "USD", "Tenancy": "Shared", "vCPU": "4"}
    common |= {"Operating System": "Linux", "CapacityStatus": "Used", "Pre Installed S/W": "NA", "GPU": "1"}
    common |= {"Region Code": "us-east-1", "EffectiveDate": "2026-11-01", "TermType": "OnDemand"}
    common |= {"MarketOption": "OnDemand", "Memory": "16 GiB", "Location Type": "AWS Region"}

    def line(kind: str, **changes: str) -> str:
        cells = {**plain, **common, "Instance Type": kind, **changes}
        return ",".join(f'"{cells[name]}"' for name in COLUMNS) + "\n"

    block = [line(kind) for kind in kinds[:2]]
    others = (
        {"TermType": "Reserved"},
        {"Operating System": "Windows"},
        {"Tenancy": "Dedicated"},
        {"CapacityStatus": "AllocatedHost"},
    )
    block += [line(kinds[n % 4], **others[n % 4]) for n in range(398)]
    text = "".join(block)
    with path.open("w", encoding="utf-8") as file:
        file.write(head + ",".join(f'"{name}"' for name in COLUMNS) + "\n")
        for _ in range(size // len(text) + 1):
            file.write(text)


def measured(code: str, path: Path) -> tuple[float, float, float] | None:
    done = subprocess.run([PYTHON, "-c", PEAK + code, str(path)], cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode:
        if "No module named 'gpuhunt'" in done.stderr:
            return None
        raise RuntimeError(done.stderr)
    seconds, megabytes, rows = (float(word) for word in done.stdout.split())
    return seconds, megabytes, rows
