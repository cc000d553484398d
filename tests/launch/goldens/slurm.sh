#!/bin/bash
#SBATCH --job-name=pretrain
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --gres=gpu:8
#SBATCH --time=3-00:00:00
#SBATCH --signal=B:USR1@60
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
export SIZEWELL_TIME_LIMIT_S=259200
export SIZEWELL_ZERO_STAGE=3
export SIZEWELL_NODES=$SLURM_JOB_NUM_NODES
first="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"
getent hosts "$first" >/dev/null || first="$(hostname -I | cut -d" " -f1)"  # where this script runs
SIZEWELL_COORDINATOR="$first:29500"
export SIZEWELL_COORDINATOR SCRIPTS IMAGE

# The runtime that works on every machine; RDMA devices go into the container where a machine has them.
how="${SIZEWELL_CONTAINER:-auto}"
if [ "$how" = auto ]; then
  if srun --help 2>/dev/null | grep -q -- --container-image && srun bash -c 'command -v enroot >/dev/null'
  then how=pyxis
  elif srun bash -c 'docker info >/dev/null 2>&1 && { command -v nvidia-container-runtime-hook >/dev/null || docker info 2>/dev/null | grep -qw nvidia; }'; then how=docker
  else
    echo "pretrain: no container runtime works on every machine: Pyxis needs enroot, Docker a daemon that answers this user and NVIDIA's container toolkit;"
    echo "install one, or run without the image: SIZEWELL_CONTAINER=none sbatch ..."
    exit 64
  fi
fi
rdma=(); mounts="$SCRIPTS:$SCRIPTS"
if [ -d /dev/infiniband ]; then
  mounts+=",/dev/infiniband:/dev/infiniband"
  for device in /dev/infiniband/*; do rdma+=(--device "$device"); done
fi

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
  SIZEWELL_TENSOR SIZEWELL_TIME_LIMIT_S SIZEWELL_ZERO_STAGE SLURM_NODEID
)
# shellcheck disable=SC2016
line=(python3 "$SCRIPTS"/spawn.py --processes 8 "$SCRIPTS"/train_fsdp.py)
# Each machine's own shell outlives SIGTERM and removes what was unpacked; Slurm signals the line itself too.
# shellcheck disable=SC2016
tidy='trap : TERM; "$@"; code=$?; rm -rf "$SCRIPTS" 2>/dev/null; exit "$code"'
start=(srun --kill-on-bad-exit=1)
case "$how" in
  pyxis) start+=(--container-image="$IMAGE" --container-mounts="$mounts" bash -c "$tidy" -) ;;
  docker)
    variables=()
    for name in "${names[@]}"; do variables+=(--env "$name"); done
    start+=(bash -c "$tidy" - docker run --rm --init --name "sizewell-$SLURM_JOB_ID"
      --network host --ipc host --gpus all "${rdma[@]}" --ulimit memlock=-1
      --stop-timeout 600 -v "$SCRIPTS:$SCRIPTS:ro" "${variables[@]}" "$IMAGE") ;;
  *) start+=(bash -c "$tidy" -) ;;
esac

# SIGUSR1 comes before the time limit, SIGTERM where Slurm takes the machines: the processes save and end.
told=
trap 'told=limit; scancel --signal=TERM "$SLURM_JOB_ID" 2>/dev/null' USR1
trap 'told=slurm; scancel --signal=TERM "$SLURM_JOB_ID" 2>/dev/null' TERM
"${start[@]}" "${line[@]}" &
step=$!
wait "$step"
code=$?
while kill -0 "$step" 2>/dev/null; do
  wait "$step"
  code=$?
done
rm -rf "$SCRIPTS"
show() { scontrol show job -o "$SLURM_JOB_ID" 2>/dev/null | grep -o " $1=[^ ]*" | cut -d= -f2; }
requeue() { echo "$1: back into the queue"; scontrol requeue "$SLURM_JOB_ID"; }
state="$(show JobState)"; taken="$(show PreemptTime)"
if [ "$code" -eq 0 ]; then exit 0; fi
if [ "$state" != RUNNING ]; then echo "ended by Slurm (${state:-no answer}), with $code"; exit "$code"; fi
case "$told,$code" in
  limit,*) echo "the time limit is reached: saved if time allowed; run sbatch again to continue" ;;
  *,64 | *,76) ;;
  slurm,*) if [ "${taken:-None}" != None ]; then requeue "preempted"; fi ;;
  ,75) requeue "a machine is being reclaimed" ;;
  *) if [ "${SLURM_RESTART_COUNT:-0}" -lt 10 ]; then requeue "failed with $code"; fi ;;
esac
exit "$code"
