# Machines of one job find each other: meet, before the container runs, and part, after it. In the store,
# GENERATION-NUMBER has a machine's address and GENERATION-over the exit code that ended the job. Both are put once and
# never replaced, so that two machines cannot have one number. Set before: NODES, ENDS, OVER, TOLD_TO_END,
# COORDINATOR_PORT, state, told, args, and the functions put, get, say and die.
there() { get "$1" "$state/seen" >/dev/null 2>&1; }
newest() { # the generation that has a member; 0: none
  while there "$((generation + 1))-0"; do generation=$((generation + 1)); done
}
join() { # takes the first free number of the generation; fails where all are taken
  for ((number = 0; number < NODES; number++)); do
    put "$generation-$number" "$state/ip" >/dev/null 2>&1 && return 0
  done
  return 1
}
meet() {
  ip=$(hostname -I | cut -d" " -f1)
  echo "$ip" > "$state/ip"
  generation=$(cat "$state/generation" 2>/dev/null || echo 0)
  left=$generation # the one that this machine was in before
  newest
  # Looked at before joining: a machine that comes after the end would else open a generation that nobody joins.
  if there "$generation-over"; then
    read -r code < "$state/seen"
    case "$code" in 0|"$OVER") say "the job is over, with $code"; exit 0 ;; esac
  fi
  # Never back into the generation that it left: its old number still stands there, so it would be two members of it,
  # and the others, whom a newer generation tells to begin anew, would not learn that this one does.
  if [ "$generation" -eq "$left" ]; then generation=$((generation + 1)); fi
  # All numbers taken: one of their machines is gone, and this one is in its place. Two that open the next generation at
  # once are both in it, since it is opened by taking a number of it.
  until join; do generation=$((generation + 1)); newest; done
  # Killed before this line, the machine takes a second number when it starts again; whoever then finds none opens the
  # next generation, and all meet there. The other way round it would leave a generation that it was never in.
  echo "$generation" > "$state/generation"
  say "machine $number of $NODES in generation $generation"
  until there "$generation-$((NODES - 1))"; do # numbers are taken in order: the last is there, so all are
    [ -z "$told" ] || exit "$TOLD_TO_END"
    # A member of this one failed meanwhile, or was replaced: nobody takes the numbers that are left.
    if there "$((generation + 1))-0"; then say "generation $generation is over"; exit 1; fi
    sleep "$PAUSE"
  done
  get "$generation-0" "$state/first" >/dev/null 2>&1 || die "the store did not respond" 69
  read -r first < "$state/first"
  args+=(--env "SIZEWELL_NODES=$NODES" --env "SIZEWELL_NODE=$number")
  args+=(--env "SIZEWELL_COORDINATOR=$first:$COORDINATOR_PORT")
  { # the others go on in a newer generation: so does this machine, whose container would wait for them
    until there "$((generation + 1))-0"; do sleep "$PAUSE"; done
    kill -TERM "$$" 2>/dev/null
  } & watcher=$!
}
part() { # the end of one is the end of all, where another start would not mend it; else the next generation
  code=$?
  kill "$watcher" 2>/dev/null
  case " 0 $ENDS " in
    *" $code "*) echo "$code" > "$state/code"; put "$generation-over" "$state/code" >/dev/null 2>&1 ;;
    *)
      sleep "$PAUSE" # when one ends, the others fail at once: its code is in the store a moment later
      if there "$generation-over"; then read -r code < "$state/seen"; say "the job is over, with $code"
      elif there "$((generation + 1))-0"; then code=$TOLD_TO_END; fi ;; # a machine was lost: no failure of this one
  esac
  return "$code"
}
