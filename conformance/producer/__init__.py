"""Our producer against Kafka's own classes, decision by decision, in virtual time.

Theory   A sequence is a configuration and commands (sequences.py). The judge (judge.py, java/) plays it on the real
         RecordAccumulator, BufferPool, Sender and TransactionManager of a release under that release's MockTime. The
         sender is on its MockClient, where the sequence says when which response comes and which node is missing. Where
         Kafka's thread sleeps or waits for a node, MockTime goes on by itself.
         The NetworkClient and the Metadata of a producer are on connections that do what the sequence says. They are in
         network_sequences.py and Network.java. ours.py plays the sequence on `fakebroker.producer`.
         The results of each command, the order of the callbacks and the free memory have to be equal. Messages may have
         other words: their numbers and the reason are compared (play.py).
         A difference is made short (shrink.py) and kept in `tests/golden/producer/`, which the normal tests replay
         without Java. Other implementations of a codec come to other sizes. So our producer gets the sizes of Java's
         codecs (compressed.py), and has to decide the same with them.
"""
