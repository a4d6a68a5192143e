#!/usr/bin/env bash
# The checked-in block_tables.cc is what the script makes of the numbers.
#   block_tables_test.sh make_block_tables.py iq_grids.json block_tables.cc
set -euo pipefail
if diff <(python3 "$1" "$2") "$3"; then
  echo "PASSED: $3 is what $1 makes"
else
  echo "FAILED: $3 differs from what $1 makes of $2; run the script again" >&2
  exit 1
fi
