"""Queries split over a network of sites (INEv): what to evaluate where, and what to send along which edges.

Planning on data only: nothing here runs a query. `planner.plan_workload` is the entry.
"""
