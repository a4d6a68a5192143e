#!/bin/bash
# One part of a profile: task i of PARTS takes every PARTS-th text. For a job array of Slurm:
#
#   PARTS=16 MODEL=model.gguf OUT=parts sbatch --array=1-16 profile_array.sh TEXT...
#
# A task that is killed and run again goes on where it was. PARTS is said by you, since an array of
# one task that is run again would count as one.
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail
exec "${PROFILE_BUILD:-profile_build}" build --model "$MODEL" \
  --out "$OUT/part-$SLURM_ARRAY_TASK_ID.profile" --shard "$SLURM_ARRAY_TASK_ID/$PARTS" \
  --threads "${SLURM_CPUS_PER_TASK:-1}" --save_every "${SAVE_EVERY:-30}" "$@"
