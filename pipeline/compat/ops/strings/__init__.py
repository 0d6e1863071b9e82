"""String ops."""
