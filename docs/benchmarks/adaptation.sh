#!/bin/bash
# How much swapping helps when the text is not what the profile was made from: a profile of English
# and C, then German. Prints a line a cache size, for slots that stay and for slots that follow.
#
#   docs/benchmarks/adaptation.sh MODEL.gguf TEXTS
#
# TEXTS is a folder with handbook_en.txt, c_code.txt and german.txt. Counts of hits vary a little from
# run to run, since copies take their time beside the steps.
set -euo pipefail
model=$(realpath "$1")
texts=$(realpath "$2")
cd "$(dirname "$0")/../.."
./bazelw build //strata/generate //strata/tools:profile_build
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bazel-bin/strata/tools/profile_build build --model "$model" --out "$work/profile" \
  --max_context 512 "$texts/handbook_en.txt" "$texts/c_code.txt" 2>/dev/null
head -c 6000 "$texts/german.txt" >"$work/german.txt"
for swaps in 0 32; do
  for cache in 5% 10% 25% 50%; do
    bazel-bin/strata/generate/generate --model "$model" --prompt_file "$work/german.txt" \
      --prompt_batch 1 --max_context 4096 --max_new 256 --ignore_eos --expert_profile "$work/profile" \
      --prefill on --expert_cache "$cache" --adapt_swaps "$swaps" --json 2>/dev/null |
      python3 -c '
import json, sys
cache, swaps = sys.argv[1:]
stats = json.load(sys.stdin)["stats"]
print("cache %4s  swaps a round %2s  steps %d  hits %.1f %%  swaps %d of %.1f MiB" % (
    cache, swaps, stats["prompt_tokens"] + stats["new_tokens"], 100 * stats["hits"] / stats["routed"],
    stats["swaps"], stats["adapt"]["bytes"] / 2**20))' "$cache" "$swaps"
  done
done
