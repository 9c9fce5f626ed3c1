"""The front door: the public names of the simulator of Kafka's consumer groups."""
