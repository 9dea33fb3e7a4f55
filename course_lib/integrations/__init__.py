"""Callbacks for trainers: gradients are watched in Lightning's ``Trainer`` and in that of Hugging Face by one line."""

from course_lib.integrations.callbacks import huggingface_callback, lightning_callback

__all__ = ["huggingface_callback", "lightning_callback"]
