"""The doctor's report: findings, tables, and how they are rendered."""
