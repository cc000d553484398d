"""What runs on a cluster: from a decision to Kubernetes manifests or a Slurm script. Pure; imports `sizing`."""
