"""The command line, `python -m pipeline feed` and `check`: cli.py parses arguments and prints."""
