"""Fit the constants of calibration/serving.json to published cases; the fit itself ships with the package."""

from __future__ import annotations

import sys

from sizewell.accuracy.fits.serving import main

if __name__ == "__main__":
    sys.exit(main())
