"""All that runs in the sandbox beside untrusted code."""
