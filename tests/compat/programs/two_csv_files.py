import pipeline.compat.v1 as tf
taken = []
# 同时打开多个文件，显示创建Queue，同时隐含了QueueRunner的创建
filename_queue = tf.train.string_input_producer(["data1.csv","data2.csv"])
reader = tf.TextLineReader(skip_header_lines=1)
# TensorFlow的Reader对象可以直接接受一个Queue作为输入
key, value = reader.read(filename_queue)
# filled in
columns = tf.decode_csv(value, record_defaults=[[0.], [0.], [0]])
data, label = tf.stack(columns[:2]), columns[2]
data_batch, label_batch = tf.train.batch([data, label], batch_size=3)

with tf.Session() as sess:
    coord = tf.train.Coordinator()
    # 启动计算图中所有的队列线程
    threads = tf.train.start_queue_runners(coord=coord)
    # 主线程，消费100个数据
    for _ in range(100):
        features, labels = sess.run([data_batch, label_batch])
        taken.append((features, labels))
    # 主线程计算完成，停止所有采集数据的进程
    coord.request_stop()
    coord.join(threads)
