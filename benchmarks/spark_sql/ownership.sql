FROM intervals
