#!/usr/bin/env bash
# A port on several GPUs: each task of a job array judges a part of the kernels, and a second job joins the records.
#
#   id=$(sbatch --parsable --array=0-3 --gpus-per-task=1 ci/slurm-array.sh)
#   sbatch --dependency=afterany:$id ci/slurm-array.sh join
#
# The parts lie in a folder with the array job's number, and only records of that job are joined. Where the second job
# does not depend on the first, name it: `ci/slurm-array.sh join --run-id slurm-NUMBER`.
#
# Submitted in the folder that declares the port. PARITY_OUT is a folder that all nodes share (default: .parity),
# PARITY_OPTIONS are further options of `candle-parity run`, such as --runtime rocm or --kernels port.
#SBATCH --job-name=candle-parity
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=8
#SBATCH --output=candle-parity-%A_%a.log
set -euo pipefail
out=${PARITY_OUT:-.parity}
if [ -L "$out" ]; then rm -f -- "$out"; fi # a link that the repository brings
mkdir -p "$out"

if [ "${1:-}" = join ]; then
  config=()
  if [ -e candle-parity.toml ]; then
    config=(--config candle-parity.toml)
  elif grep -qs 'tool\.candle-parity' pyproject.toml; then
    config=(--config pyproject.toml)
  fi
  rm -f -- "$out/record.json"
  id=
  if [ "${2:-}" = --run-id ]; then
    id=${3:-}
    set -- join "${@:4}"
  elif [[ ${SLURM_JOB_DEPENDENCY:-} =~ [0-9]+ ]]; then
    id=slurm-${BASH_REMATCH[0]}
  fi
  if [ -z "$id" ]; then
    echo "the array job is not known; name it: ci/slurm-array.sh join --run-id slurm-NUMBER" >&2
    exit 2
  fi
  candle-parity report "$out/$id"/part-*.json --run-id "$id" "${config[@]}" "${@:2}" --json "$out/record.json"
  exit
fi

export CANDLE_PARITY_RUN_ID=slurm-$SLURM_ARRAY_JOB_ID
part=$((SLURM_ARRAY_TASK_ID - ${SLURM_ARRAY_TASK_MIN:-0} + 1))
read -ra options <<< "${PARITY_OPTIONS:-}"
code=0
candle-parity run "${options[@]}" --shard "$part/$SLURM_ARRAY_TASK_COUNT" \
  --json "$out/$CANDLE_PARITY_RUN_ID/part-$part.json" || code=$?
if [ "$code" = 1 ]; then code=0; fi # kernels that fail: the gates are for all parts together
exit "$code"
