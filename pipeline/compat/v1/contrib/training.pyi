"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.input.buckets import bucket as bucket, bucket_by_sequence_length as bucket_by_sequence_length
from pipeline.compat.input.sampling import rejection_sample as rejection_sample, stratified_sample as stratified_sample
from pipeline.compat.input.sequences import (
    NextQueuedSequenceBatch as NextQueuedSequenceBatch, batch_sequences_with_states as batch_sequences_with_states,
)
