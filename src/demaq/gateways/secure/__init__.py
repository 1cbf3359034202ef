"""WS-Security: who sent an envelope, whether it is as it was sent, and what nobody else should read."""
