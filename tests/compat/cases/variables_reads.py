"""Time of variable reads: a variable's tensor shows values assigned before it is used."""

UPDATES = ["assign_add", "assign_sub", "assign"]


def uses(tf, variable):
    """Tensors computed from a variable."""
    return [
        tf.identity(variable),
        variable + 0.0,
        variable.value() * 1.0,
        variable.read_value(),
        tf.reduce_sum(variable),
        tf.reshape(variable, [-1]),
        tf.fill([2], tf.reduce_max(variable)),
    ]


def uses_after_an_update(tf, sess):
    got = []
    for shape in ((), (2,)):
        variable = tf.Variable(tf.zeros(shape))
        for update in UPDATES:
            with tf.control_dependencies([getattr(tf, update)(variable, tf.ones(shape))]):
                tensors = uses(tf, variable)
            for tensor in tensors:
                sess.run(variable.initializer)
                got.append(sess.run(tensor))
    return got


def uses_before_an_update(tf, sess):
    variable = tf.Variable(1.0)
    doubled = variable * 2.0
    with tf.control_dependencies([doubled]):
        update = tf.assign_add(variable, 5.0)
    sess.run(variable.initializer)
    return sess.run([doubled, update])


def values_that_are_fetched_are_those_after_the_run(tf, sess):
    variable = tf.Variable([1, 2])
    read, again = variable.read_value(), tf.identity(tf.identity(variable))
    with tf.control_dependencies([read]):
        update = tf.assign_add(variable, [10, 10])
    sess.run(variable.initializer)
    return [sess.run([read, update]), sess.run([update, again]), sess.run([variable, variable.value(), update])]


def old_values_are_kept_by_computing_with_them(tf, sess):
    variable = tf.Variable(1)
    same, old = tf.identity(variable), variable + 0
    with tf.control_dependencies([same, old]):
        update = tf.assign_add(variable, 1)
    with tf.control_dependencies([update]):
        results = [tf.identity(same), tf.identity(old)]
    sess.run(variable.initializer)
    return sess.run(results)


def counters_in_branches(tf, sess):
    counter = tf.get_variable("counter", [], tf.int32, initializer=tf.zeros_initializer())
    sess.run(counter.initializer)

    def count():
        with tf.control_dependencies([tf.assign_add(counter, 1)]):
            return tf.identity(counter)

    counted = tf.cond(counter < 2, count, lambda: counter + 100)
    with tf.control_dependencies([counted]):
        after = tf.identity(counter)
    return [sess.run([counted, after]) for _ in range(3)]


def global_step_in_an_input_pipeline(tf, sess):
    step = tf.train.get_or_create_global_step()
    queue = tf.FIFOQueue(10, tf.int64, shapes=[()])
    with tf.control_dependencies([tf.assign_add(step, 1)]):
        enqueue = queue.enqueue(step * 10)
    sess.run(step.initializer)
    for _ in range(3):
        sess.run(enqueue)
    return sess.run(queue.dequeue_many(3))


def no_value_to_pass_on(tf, sess):
    variable = tf.Variable(1.0)
    try:
        sess.run(tf.identity(variable))
    except tf.errors.FailedPreconditionError as error:
        return "Attempting to use uninitialized value Variable" in str(error)
