# Makes a machine a node of a Slurm cluster, from an image with Slurm or with packages of it, and looks after its
# daemons. In the store, controller-NUMBER has the name and address of a controller; the highest number is in office.
# Set before: GROUP, NODES, DEVICES (of this machine), PATTERN (their files), GRES and SETTINGS (of slurm.conf), and the
# functions put and get.
set -uo pipefail
ROOT=${ROOT:-} # of tests, as other values of the two that follow
PATIENCE=${PATIENCE:-300} # seconds that a controller may be silent
PAUSE=${PAUSE:-30}
MEMORY_PERCENT=95 # of what slurmd -C measures, that jobs may have (estimate); a node with less is drained
die() { echo "sizewell-slurm: $1" >&2; sleep "$PAUSE"; exit 1; }
export PATH=$PATH:/opt/slurm/sbin:/opt/slurm/bin # where AWS ParallelCluster's images have it
if ! command -v slurmd >/dev/null; then
  if command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q && apt-get install -yq slurmd slurmctld slurm-client munge
    systemctl disable --now slurmd slurmctld 2>/dev/null # the packages start them, without a configuration
  fi
fi
command -v slurmd >/dev/null || die "the image has no Slurm and no package of it; name one that has"
version=$(slurmd -V | tr -dc '0-9.' | cut -d. -f1,2 | tr -d .)
[ "${version:-0}" -ge 2011 ] || die "$(slurmd -V) is too old: nodes take their names from Slurm 20.11 on"
work=$ROOT/var/lib/sizewell-slurm; conf=$ROOT/etc/slurm; key=$ROOT/etc/munge/munge.key
mkdir -p "$work" "$conf" "${key%/*}" "$ROOT/var/spool/slurmctld" "$ROOT/var/spool/slurmd"
chmod 700 "$work"
ip=$(hostname -I | cut -d" " -f1)
user=$(id -un slurm 2>/dev/null || echo root)

# What this machine is: Slurm gives a name only to one that is exactly as its configuration says.
measured=$(slurmd -C | tr ' ' '\n')
sizes=$(grep -E '^(CPUs|Boards|[SCT][a-z]+Per[A-Z][a-z]+)=' <<< "$measured" | paste -sd' ')
memory=$(sed -n 's/^RealMemory=//p' <<< "$measured")
export SLURM_CONF=$conf/slurm.conf
if [ -d /opt/slurm/etc ]; then ln -sf "$SLURM_CONF" /opt/slurm/etc/slurm.conf; fi # where its commands look
[ -n "$sizes" ] && [ -n "$memory" ] || die "slurmd -C does not say what this machine is: $measured"
devices() { compgen -G "$ROOT$PATTERN" | sort -V; }
waited=0 # a driver may still be loading
while [ "$(devices | wc -l)" -lt "$DEVICES" ] && [ "$waited" -lt "$PATIENCE" ]; do
  sleep "$PAUSE"; waited=$((waited + PAUSE))
done
if [ -z "$GRES" ]; then # else Slurm itself drains a node that has fewer than its configuration says
  there=$(devices | wc -l)
  [ "$there" -ge "$DEVICES" ] || die "$there of $DEVICES devices are there"
fi

# One key for all: whoever is first puts it. Each reads it back, its own too: of two that were put at once one is there.
until get munge.key "$key" >/dev/null 2>&1 && [ -s "$key" ]; do
  head -c 1024 /dev/urandom > "$work/key"
  put munge.key "$work/key" >/dev/null 2>&1 || sleep 1
done
rm -f "$work/key"; chmod 400 "$key"; chown munge: "$key" 2>/dev/null
systemctl restart munge

# What a killed job leaves behind: its unpacked scripts, and a container, which is no child of it.
cat > "$conf/epilog" <<'EPILOG'
#!/bin/bash
rm -rf "/tmp/sizewell-$SLURM_JOB_ID" /tmp/sizewell-notice-"$SLURM_JOB_ID"-*
if command -v docker >/dev/null; then docker rm -f "sizewell-$SLURM_JOB_ID" >/dev/null 2>&1; fi
exit 0
EPILOG
chmod 755 "$conf/epilog"

answers() { timeout 5 bash -c "exec 3<>/dev/tcp/$1/${PORT:-6817}" 2>/dev/null; }
newest() { # the controller in office; number is the next one's
  host=; held=; number=1
  while get "controller-$number" "$work/controller" >/dev/null 2>&1; do
    read -r host held < "$work/controller"; number=$((number + 1))
  done
}
free() { # names of machines that are gone: Slurm keeps them, and has none left for their replacements
  for node in $(sinfo -hN -p main -t down -o %N 2>/dev/null | sort -u); do
    scontrol update nodename="$node" state=FUTURE
  done
}
stop() { for daemon in "$@"; do pkill -x "$daemon"; done; }
before=$(cat "$work/before" 2>/dev/null); silent=0; watched= # started again beside daemons that run: they go on
while true; do
  newest # from the store each time: the controller of before, cut off meanwhile, would else go on beside its successor
  # Silence is of one controller: a machine that waited long for the last one would else depose the next at first sight.
  if [ "$number" != "$watched" ]; then silent=0; watched=$number; fi
  if [ -n "$held" ] && { [ "$held" = "$ip" ] || answers "$held"; }; then silent=0
  else silent=$((silent + PAUSE)); fi
  if [ -z "$held" ] || [ "$silent" -gt "$PATIENCE" ]; then
    echo "$(hostname -s) $ip" > "$work/mine"
    # One leader: a number is put once, so of two machines that put it at once one fails. The number follows the
    # controller that was found silent, so a slow machine does not depose the successor. Who won is read, not told by
    # the exit code: the answer to a put that arrived can be lost.
    put "controller-$number" "$work/mine" >/dev/null 2>&1; silent=0
    continue
  fi
  if [ "$held" != "$before" ]; then
    stop slurmd slurmstepd slurmctld # jobs of a controller that is gone have nobody to answer to
    {
      echo "SlurmctldHost=$host($held)"; echo "SlurmUser=$user"; echo "Epilog=$conf/epilog"
      echo "NodeName=$GROUP-[1-$NODES] $sizes RealMemory=$((memory * MEMORY_PERCENT / 100))${GRES:+ $GRES} State=FUTURE"
      echo "$SETTINGS"
    } > "$conf/slurm.conf"
    : > "$conf/gres.conf"
    if [ -n "$GRES" ]; then devices | sed 's/^/Name=gpu File=/' > "$conf/gres.conf"; fi
    printf 'ConstrainDevices=yes\nConstrainRAMSpace=yes\n' > "$conf/cgroup.conf"
    before=$held; echo "$held" > "$work/before"
  fi
  if [ "$held" = "$ip" ]; then
    if ! pgrep -x slurmctld >/dev/null; then
      chown "$user" "$ROOT/var/spool/slurmctld"
      slurmctld -f "$conf/slurm.conf" || die "slurmctld did not start"
    fi
    free
  fi
  pgrep -x slurmd >/dev/null || slurmd -F -f "$conf/slurm.conf"
  sleep "$PAUSE"
done
