"""Ops that parse records: decode_raw, decode_csv, Examples and SequenceExamples."""
