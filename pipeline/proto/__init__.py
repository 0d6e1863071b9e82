"""Protocol buffer messages without protobuf; message.py says which file answers what."""
