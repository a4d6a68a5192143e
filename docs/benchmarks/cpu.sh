#!/bin/bash
# Measures models on this machine's CPU and leaves what generate_benchmark prints, as text and as
# JSON, in a folder:
#
#   docs/benchmarks/cpu.sh FOLDER MODEL.gguf...
#
# On an otherwise idle machine. THREADS=1,2 and REPETITIONS=15 unless the environment says otherwise.
set -euo pipefail
folder=$(realpath "$1")
shift
mkdir -p "$folder"
models=()
for model in "$@"; do models+=("$(realpath "$model")"); done
cd "$(dirname "$0")/../.."
./bazelw build //strata/generate:generate_benchmark
for model in "${models[@]}"; do
  name=$(basename "$model" .gguf)
  flags=(--model "$model" --threads "${THREADS:-1,2}" --repetitions "${REPETITIONS:-15}")
  bazel-bin/strata/generate/generate_benchmark "${flags[@]}" | tee "$folder/$name.txt"
  bazel-bin/strata/generate/generate_benchmark "${flags[@]}" --json >"$folder/$name.json"
done
