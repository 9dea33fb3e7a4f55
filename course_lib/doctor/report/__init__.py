"""What the doctor says: findings, tables, and how they are rendered."""
