"""Rows that were not fitted: their log density, and the clusters that they belong to."""
