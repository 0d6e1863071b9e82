"""What else holds elements in a session: StagingArea, Barrier, accumulators, RecordInput."""
