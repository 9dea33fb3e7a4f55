"""Losses, fused: each is one operation with one short vjp, where its formula would be many."""
