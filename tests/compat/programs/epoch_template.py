import pipeline.compat.v1 as tf
seen = []
filenames = tf.train.string_input_producer(["a", "b", "c"], num_epochs=2,
                                           shuffle=False)
batch = tf.train.batch([filenames.dequeue()], batch_size=2)
train_op = batch

# Create the graph, etc.
init_op = [tf.initialize_all_variables(), tf.local_variables_initializer()]

# Create a session for running operations in the Graph.
sess = tf.Session()

# Initialize the variables (like the epoch counter).
sess.run(init_op)

# Start input enqueue threads.
coord = tf.train.Coordinator()
threads = tf.train.start_queue_runners(sess=sess, coord=coord)

try:
    while not coord.should_stop():
        # Run training steps or whatever
        seen.append(sess.run(train_op))

except tf.errors.OutOfRangeError:
    print('Done training -- epoch limit reached')
finally:
    # When done, ask the threads to stop.
    coord.request_stop()

# Wait for threads to finish.
coord.join(threads)
sess.close()
