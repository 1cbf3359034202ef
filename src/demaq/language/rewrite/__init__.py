"""Rules and property values as plain XQuery: functions of the message and of a view of the log."""
