"""Each module does the tasks with one tool, as somebody would write it who knows that tool well."""
