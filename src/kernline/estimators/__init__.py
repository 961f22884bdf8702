"""The estimators, and what they share: parameters are translated and checked here, and fitted results kept."""
