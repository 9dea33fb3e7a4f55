"""The service as its users meet it: pages for learners and instructors, and an interface for programs."""
