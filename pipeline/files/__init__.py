"""Gets bytes and records out of files and URLs; knows neither queues nor threads."""
