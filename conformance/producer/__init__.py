"""Our producer against Kafka's own classes, decision by decision, in virtual time.

Theory   A sequence is a configuration and commands (sequences.py). The judge (judge.py, java/) plays it on the real
         RecordAccumulator, BufferPool, Sender and TransactionManager of a release under that release's MockTime; the
         sender is on its MockClient, where the sequence says what is answered when and which node is not there. Where
         Kafka's thread sleeps or waits for a node, MockTime goes on by itself. The NetworkClient, with the
         Metadata of a producer, is on connections that do what the sequence says (network_sequences.py,
         Network.java). ours.py plays it on
         `fakebroker.producer`. What each command gave, who was called back in which order, and what memory was left
         have to be equal, but for the words of messages: of these the numbers and the reason are compared (play.py).
         What differs is made short (shrink.py) and kept in `tests/golden/producer/`, which the normal tests replay
         without Java. Other implementations of a codec come to other sizes, so ours is told those of Java's
         (compressed.py), with which it has to decide the same.
"""
