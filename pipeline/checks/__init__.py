"""Checks of users' own datasets and sources: do they resume exactly, and is every run the same?"""
