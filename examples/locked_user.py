"""Two users of one cluster: one is refused once when it logs in, the other may not write.

pip install confluent-kafka
python examples/locked_user.py
"""

from __future__ import annotations

from confluent_kafka import Producer

from fakebroker import FakeCluster

LOCKED = {"error": {"error": "SASL_AUTHENTICATION_FAILED", "message": "the account is locked"}}

with FakeCluster(brokers=1, users={"alice": "secret", "bob": "word"}) as kafka:
    kafka.create_topic("orders", partitions=1)
    kafka.faults.add(when={"api": "SaslAuthenticate", "principal": "User:alice"}, do=LOCKED)
    kafka.faults.add(when={"api": "Produce", "principal": "User:bob"}, do="TOPIC_AUTHORIZATION_FAILED")
    for user, password in (("alice", "secret"), ("bob", "word")):
        settings = kafka.client_settings("confluent", user=user, password=password)

        def refused(error: object, user: str = user) -> None:
            if "locked" in str(error):
                print(f"{user}: refused, the account is locked")

        def sent(error: object, message: object, user: str = user) -> None:
            print(f"{user}: {'may not write' if error else 'has written'}")

        producer = Producer({**settings, "log_level": 0, "reconnect.backoff.ms": 10, "error_cb": refused})
        producer.produce("orders", b"an order", on_delivery=sent)
        producer.flush(20)
