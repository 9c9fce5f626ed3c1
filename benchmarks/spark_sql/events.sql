FROM events
