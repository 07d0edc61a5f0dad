"""Queries split over a network of sites, as a job: its file, its plan, and the jobs of its sites."""
