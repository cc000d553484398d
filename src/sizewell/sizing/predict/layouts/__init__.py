"""How training is split over devices: every legal layout, bounds on them, the search for the best."""
