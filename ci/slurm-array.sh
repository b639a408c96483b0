#!/usr/bin/env bash
# A port on several GPUs: each task of a job array judges a part of the kernels, and a second job joins the records.
#
#   id=$(sbatch --parsable --array=0-3 --gpus-per-task=1 ci/slurm-array.sh)
#   sbatch --dependency=afterany:$id ci/slurm-array.sh join
#
# Submitted in the folder that declares the port. PARITY_OUT is a folder that all nodes share (default: .parity),
# PARITY_OPTIONS are further options of `candle-parity run`, such as --runtime rocm or --kernels port.
#SBATCH --job-name=candle-parity
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=8
#SBATCH --output=candle-parity-%A_%a.log
set -euo pipefail
out=${PARITY_OUT:-.parity}
mkdir -p "$out"

if [ "${1:-}" = join ]; then
  config=()
  if [ -e candle-parity.toml ]; then
    config=(--config candle-parity.toml)
  elif grep -qs 'tool\.candle-parity' pyproject.toml; then
    config=(--config pyproject.toml)
  fi
  candle-parity report "$out"/part-*.json "${config[@]}" "${@:2}" --json "$out/record.json"
  exit
fi

part=$((SLURM_ARRAY_TASK_ID - ${SLURM_ARRAY_TASK_MIN:-0} + 1))
read -ra options <<< "${PARITY_OPTIONS:-}"
code=0
candle-parity run "${options[@]}" --shard "$part/$SLURM_ARRAY_TASK_COUNT" --json "$out/part-$part.json" || code=$?
if [ "$code" = 1 ]; then code=0; fi # kernels that fail: the gates are for all parts together
exit "$code"
