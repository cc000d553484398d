from test_mutants import killed_by_rules, mutants, RULES, ELSEWHERE


def test_x():
    killed = killed_by_rules(mutants())
    built = {r for k in killed.values() for r in k}
    idle = {r.id for r in RULES} - built
    open("/tmp/idle.txt", "w").write(
        f"extra {sorted(idle - set(ELSEWHERE))}\nmissing {sorted(set(ELSEWHERE) - idle)}\nkilled by new {[(str(m), k) for m, k in killed.items() if 'secret-in-plain-text' in k or 'accelerators-kept' in k][:5]}\n"
    )
