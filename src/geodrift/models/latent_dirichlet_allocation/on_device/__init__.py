"""Method "gibbs" on devices that are no CPUs: everything that a step reads or writes stays on them."""
