"""Read-only clients of the clouds: paging, back-off with jitter, time-outs and one deadline for all that is asked.

Start at `calls.py` (errors, time-outs, several questions at once), then `rest.py` (JSON over HTTPS) and one file per
cloud. Nothing here changes anything: AWS operations are admitted by their verb, REST calls are GET, and a POST only
where the API reads by POST. The SDKs are extras of the package (`aws`, `gcp`, `azure`).
"""
