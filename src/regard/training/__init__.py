"""The loop, schedules, checkpoints and runs on many machines."""
