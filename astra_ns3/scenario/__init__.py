"""Who shares a network: tenants, each with NPUs, a workload and a system of its own."""
