"""The same work done with Demaq and with what people would use instead."""
