"""Exercises and submitted notebooks as data: keys, answer cells, known-wrong answers, names used."""
