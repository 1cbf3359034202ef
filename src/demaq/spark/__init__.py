"""Demaq on Spark. The only place that imports pyspark, which is an extra."""
