"""AMD's own HIP library, as installed: where it lies, which GPUs it shows, and why it shows none."""
