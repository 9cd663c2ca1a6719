"""Compiled kernels that several parts share: random streams, threads, and draws of common laws on the CPU."""
