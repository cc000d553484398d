"""Burn-in of a TPU slice's links: an all-reduce over all chips of the job, timed, by JAX; one process on each machine.

`python all_reduce_jax.py --bytes 1073741824` prints the same line as `all_reduce.py`. Every chip sums ones, so that a
chip or a link that computes wrongly is seen, and a machine that does not join. The rate is printed; it is judged only
where `--least` asks for one. Exit code 0: right (and as fast as asked for); 1: too slow; 2: a wrong sum.
"""

from __future__ import annotations

import json
import os
import sys
import time

from all_reduce import arguments, exit_code, verdict


def main() -> int:
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    args = arguments()
    if os.environ.get("TPU_WORKER_HOSTNAMES"):  # JAX finds the other machines of a slice by itself
        jax.distributed.initialize()
    chips = jax.devices()
    mesh = Mesh(chips, ("chips",))
    apart, everywhere = NamedSharding(mesh, PartitionSpec("chips")), NamedSharding(mesh, PartitionSpec())
    shape = (len(chips), args.bytes // 4)
    ones = jax.jit(lambda: jnp.ones(shape, jnp.float32), out_shardings=apart)()
    reduce = jax.jit(lambda rows: rows.sum(axis=0), out_shardings=everywhere)
    seconds, right = [], True
    for number in range(args.warm_up + args.rounds):
        start = time.perf_counter()
        sums = reduce(ones).block_until_ready()
        if number >= args.warm_up:
            seconds.append(time.perf_counter() - start)
        mine = sums.addressable_data(0)
        right = right and bool((mine[:: max(1, mine.size // 1000)] == len(chips)).all())
    outcome = verdict(seconds=seconds, payload_bytes=shape[1] * 4, ranks=len(chips), least=args.least, right=right)
    if jax.process_index() == 0:
        print(json.dumps(outcome), flush=True)
    if jax.process_count() > 1:
        jax.distributed.shutdown()
    return exit_code(outcome)


if __name__ == "__main__":
    sys.exit(main())
