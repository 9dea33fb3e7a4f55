"""Hand in and get marks: a web service, a durable queue in PostgreSQL, and workers that grade as the command does."""
