"""How long work takes: training steps, serving, and the collectives that both wait for."""
