"""Running kernels: workers in processes of their own, a task per kernel."""
