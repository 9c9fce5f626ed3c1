"""The consumer side of a group: membership, heartbeats, fetching, commits, without I/O or clock."""
