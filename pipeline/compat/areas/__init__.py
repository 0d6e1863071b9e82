"""StagingArea and RecordInput in a session."""
