"""What can be said of an XQuery tree without evaluating it."""
