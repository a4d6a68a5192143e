"""Sums the test cases of bazel-testlogs and prints `N passed, N failed, N skipped`.

Exits with 1 when a case failed or when nothing ran.
"""
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def outcome(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.find("skipped") is not None or case.get("result") == "skipped":
        return "skipped"
    if case.get("status") == "notrun":
        return "skipped"
    return "passed"


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for report in sorted(pathlib.Path(sys.argv[1]).rglob("test.xml")):
        try:
            cases = list(ElementTree.parse(report).getroot().iter("testcase"))
        except ElementTree.ParseError:
            cases = []
        if not cases:  # A test that died before it could report.
            print(f"no report in {report}")
            counts["failed"] += 1
        for case in cases:
            counts[outcome(case)] += 1
    print(", ".join(f"{number} {word}" for word, number in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
