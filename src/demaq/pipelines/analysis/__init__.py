"""What can be said of a pipeline before it runs. Analyses change nothing and report nothing."""
