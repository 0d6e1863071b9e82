"""Ops that parse records: decode_raw, decode_csv, and Examples and SequenceExamples."""
