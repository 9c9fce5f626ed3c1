FROM looks_at_lag
