"""What the queues of a run did and which stage holds it back: report, live view, TensorBoard, Prometheus."""
