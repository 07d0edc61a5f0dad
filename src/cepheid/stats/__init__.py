"""Online estimators: rates, selectivities, histograms."""
