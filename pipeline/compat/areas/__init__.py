"""What else holds elements in a session: StagingArea and RecordInput."""
