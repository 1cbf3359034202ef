"""The TextMate grammar of `.demaq`, written as Python so that its regular expressions have names."""
