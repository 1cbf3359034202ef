"""Plans of pipelines as data frames of Spark."""
