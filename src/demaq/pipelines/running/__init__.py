"""What is needed to run a pipeline, wherever that is: files, goals, reports; and runs in memory."""
