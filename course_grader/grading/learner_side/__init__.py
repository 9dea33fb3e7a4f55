"""Code that runs inside the sandbox, in the same process as untrusted code or beside it."""
