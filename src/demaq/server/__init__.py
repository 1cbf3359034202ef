"""The node as a service: what comes in through gateways, and a REST API for people and programs."""
