#!/bin/bash
#SBATCH --job-name=pretrain
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --gres=gpu:8
#SBATCH --time=3-00:00:00
#SBATCH --signal=B:TERM@60
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=pretrain-%j.log
# prod-aws pretrain: printed by `sizewell launch`; sbatch takes it as it is.
set -uo pipefail

SCRIPTS=/tmp/sizewell-$SLURM_JOB_ID
IMAGE=registry.example/train:2.8.0
export FI_EFA_FORK_SAFE=1
export FI_EFA_USE_DEVICE_RDMA=1
export FI_EFA_USE_HUGE_PAGE=1
export FI_PROVIDER=efa
export NCCL_DEBUG=WARN
export SIZEWELL_CHECKPOINTING=none
export SIZEWELL_CHECKPOINT_INTERVAL_S=1800
export SIZEWELL_CHECKPOINT_URI=s3://sizewell-prod-aws-pretrain/main
export SIZEWELL_DATA=s3://petsnap/text
export SIZEWELL_DEADLINE=2026-09-13T10:50:00Z
export SIZEWELL_GRACE_S=60
export SIZEWELL_KEEP=4
export SIZEWELL_METHOD=pretrain
export SIZEWELL_MICRO_BATCH=2
export SIZEWELL_MODEL=meta-llama/Llama-3.1-8B
export SIZEWELL_PRECISION=bf16
export SIZEWELL_SAMPLES_PER_STEP=512
export SIZEWELL_SEQUENCE_LENGTH=8192
export SIZEWELL_SHARD_GROUP=0
export SIZEWELL_STEPS=13000
export SIZEWELL_TENSOR=2
export SIZEWELL_ZERO_STAGE=3
export SIZEWELL_NODES=$SLURM_JOB_NUM_NODES
first="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"
getent hosts "$first" >/dev/null || first="$(hostname -I | cut -d" " -f1)"  # where this script runs
SIZEWELL_COORDINATOR="$first:29500"
export SIZEWELL_COORDINATOR SCRIPTS IMAGE

# The entry scripts, onto every machine of the job.
# shellcheck disable=SC2016
unpack='mkdir -p "$SCRIPTS" && base64 -d | tar -xz -C "$SCRIPTS"'
srun --ntasks-per-node=1 bash -c "$unpack" <<'PAYLOAD' || exit 1
(the scripts)
PAYLOAD

names=(
  FI_EFA_FORK_SAFE FI_EFA_USE_DEVICE_RDMA FI_EFA_USE_HUGE_PAGE FI_PROVIDER NCCL_DEBUG SCRIPTS
  SIZEWELL_CHECKPOINTING SIZEWELL_CHECKPOINT_INTERVAL_S SIZEWELL_CHECKPOINT_URI
  SIZEWELL_COORDINATOR SIZEWELL_DATA SIZEWELL_DEADLINE SIZEWELL_GRACE_S SIZEWELL_KEEP
  SIZEWELL_METHOD SIZEWELL_MICRO_BATCH SIZEWELL_MODEL SIZEWELL_NODES SIZEWELL_PRECISION
  SIZEWELL_SAMPLES_PER_STEP SIZEWELL_SEQUENCE_LENGTH SIZEWELL_SHARD_GROUP SIZEWELL_STEPS
  SIZEWELL_TENSOR SIZEWELL_ZERO_STAGE SLURM_NODEID
)
how="${SIZEWELL_CONTAINER:-auto}"
if [ "$how" = auto ]; then
  if srun --help 2>/dev/null | grep -q -- --container-image; then how=pyxis
  elif command -v docker >/dev/null; then how=docker
  else how=none; fi
fi
# shellcheck disable=SC2016
line=(python3 "$SCRIPTS"/spawn.py --processes 8 "$SCRIPTS"/train_fsdp.py)
case "$how" in
  pyxis) start=(srun --kill-on-bad-exit=1 --container-image="$IMAGE" --container-mounts="$SCRIPTS:$SCRIPTS"
    "${line[@]}") ;;
  docker)
    told=()
    for name in "${names[@]}"; do told+=(--env "$name"); done
    start=(srun --kill-on-bad-exit=1 docker run --rm --init --network host --ipc host
      --gpus all --ulimit memlock=-1 --stop-timeout 600 -v "$SCRIPTS:$SCRIPTS:ro"
      "${told[@]}" "$IMAGE" "${line[@]}") ;;
  *) start=(srun --kill-on-bad-exit=1 "${line[@]}") ;;
esac

# Told to end (time is nearly over, or a machine goes): the processes save, the job goes back into the queue.
trap 'scancel --signal=TERM "$SLURM_JOB_ID"' TERM
"${start[@]}" &
step=$!
wait "$step"
code=$?
while kill -0 "$step" 2>/dev/null; do
  wait "$step"
  code=$?
done
if [ "$code" -eq 64 ] || [ "$code" -eq 0 ]; then exit "$code"; fi
if [ "$code" -eq 75 ] || [ "${SLURM_RESTART_COUNT:-0}" -lt 10 ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
