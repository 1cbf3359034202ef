"""WS-ReliableMessaging 1.0 and 1.1: messages that arrive once and in order, whatever the network does."""
