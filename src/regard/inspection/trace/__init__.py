"""What a model computed: recorded calls, interventions, traces and their files."""
