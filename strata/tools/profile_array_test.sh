#!/bin/bash
# docs/guide/profile_array.sh as a job array of a real slurmctld and slurmd on this machine: a task is
# killed and run again, and the merged parts are, byte for byte, the profile built in one go.
#
#   profile_array_test.sh PROFILE_BUILD SCRIPT MODEL
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin
for program in slurmctld slurmd sbatch squeue scancel scontrol; do
  if ! command -v "$program" >/dev/null || [ "$(id -u)" != 0 ]; then
    echo "skipped: needs slurmctld, slurmd and slurm-client of Debian, and root"
    exit 0
  fi
done
tool=$(realpath "$1") script=$(realpath "$2") model=$(realpath "$3")
work=$(mktemp -d)
daemons=()
finish() {
  for daemon in "${daemons[@]}"; do kill "$daemon" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap finish EXIT
mkdir "$work"/{state,spool,parts}
host=$(hostname -s)
port=$((20000 + $$ % 20000))
export SLURM_CONF=$work/slurm.conf
cat >"$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0
KillWait=1
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc)
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
CONF
slurmctld -D >"$work/slurmctld.log" 2>&1 & daemons+=($!)
slurmd -D -N "$host" >"$work/slurmd.log" 2>&1 & daemons+=($!)

# Waits for a line of a command: until COMMAND REGULAR-EXPRESSION, at most a minute.
until_line() {
  for _ in $(seq 300); do
    if eval "$1" 2>/dev/null | grep -qE "$2"; then return; fi
    sleep 0.2
  done
  echo "never: $1 | $2"
  tail -20 "$work"/*.log
  exit 1
}
until_line "sinfo -h -o %t" '^(idle|mix|alloc)'

texts=()
for i in $(seq 12); do
  text=$work/text$i.txt
  for j in $(seq 8); do echo "In the beginning of line $((i * j)) was the word number $j."; done >"$text"
  texts+=("$text")
done
# Part 2 is long and has many contexts, so that it can be killed on its way.
for i in $(seq 40); do cat "${texts[0]}"; done >"$work/text2.txt"
texts+=(--max_context 128)
"$tool" build --model "$model" --out "$work/whole.profile" "${texts[@]}" 2>/dev/null

export PROFILE_BUILD=$tool MODEL=$model OUT=$work/parts PARTS=4 SAVE_EVERY=0
job=$(sbatch --parsable --array=1-4 -o "$work/task-%a.log" "$script" "${texts[@]}")
for _ in $(seq 80); do
  if [ -e "$OUT/part-2.profile.partial" ]; then break; fi
  sleep 0.05
done
[ -e "$OUT/part-2.profile.partial" ]
scancel "${job}_2"
for _ in $(seq 80); do
  if [ -z "$(squeue -h -j "$job" 2>/dev/null)" ]; then break; fi
  sleep 0.2
done
if [ -e "$OUT/part-2.profile" ]; then echo "the task was done before it was killed"; exit 1; fi
[ -e "$OUT/part-2.profile.partial" ]
sbatch --wait --array=2 -o "$work/again-%a.log" "$script" "${texts[@]}" >/dev/null
"$tool" merge --out "$work/merged.profile" "$OUT"/part-[1-4].profile
cmp "$work/whole.profile" "$work/merged.profile"
echo "four tasks, one killed and run again: the merged profile is the whole one"
