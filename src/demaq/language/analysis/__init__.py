"""What can be said of rules without running them. Analyses compute facts; they change nothing and say nothing."""
