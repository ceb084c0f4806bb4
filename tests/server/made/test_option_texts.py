"""Options that are one text: topics, settings, brokers, racks, features, quotas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.server.made.option_texts import (
    QuotaSpec,
    TopicSpec,
    parse_acl,
    parse_broker_ids,
    parse_feature,
    parse_quota,
    parse_rack,
    parse_setting,
    parse_topic,
)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("t", TopicSpec("t", -1, -1, {})),
        ("t:2", TopicSpec("t", 2, -1, {})),
        ("t:2:3", TopicSpec("t", 2, 3, {})),
        ("t:2:3,a.b=1,c= d ", TopicSpec("t", 2, 3, {"a.b": "1", "c": "d"})),
        ("t,a=b=c", TopicSpec("t", -1, -1, {"a": "b=c"})),
        ("t=[[3,1],[1,2]]", TopicSpec("t", -1, -1, {}, [[3, 1], [1, 2]])),
        ("t=[[1]],a=b,c=d", TopicSpec("t", -1, -1, {"a": "b", "c": "d"}, [[1]])),
        ("t=[ [0, 7] ]", TopicSpec("t", -1, -1, {}, [[0, 7]])),
        ("t=[[]]", TopicSpec("t", -1, -1, {}, [[]])),  # for Kafka's error
        ("t,cleanup.policy=[compact]", TopicSpec("t", -1, -1, {"cleanup.policy": "[compact]"})),
    ],
)
def test_a_topic_is_read(text: str, spec: TopicSpec) -> None:
    assert parse_topic(text) == spec


def test_a_setting_is_read() -> None:
    assert parse_setting(" a = 1=2 ") == ("a", "1=2")


def test_the_last_of_two_values_counts() -> None:
    assert parse_topic("t,a=1,a=2").configs == {"a": "2"}


def test_broker_ids_are_read() -> None:
    assert parse_broker_ids("0, 7,100") == [0, 7, 100]


def test_features_are_read() -> None:
    assert parse_feature("transaction.version=1") == ("transaction.version", 1)
    assert parse_feature("group.version = 0") == ("group.version", 0)


def test_racks_are_read() -> None:
    assert parse_rack("1=a") == (1, "a")
    assert parse_rack("2=b=c") == (2, "b=c")


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("client-id=a,producer_byte_rate=1000", QuotaSpec(None, "a", {"producer_byte_rate": 1000.0})),
        (
            "user=u, client-id=<default>,request_percentage=1.5",
            QuotaSpec("u", "<default>", {"request_percentage": 1.5}),
        ),
        ("user=u,a=1,b=2", QuotaSpec("u", None, {"a": 1.0, "b": 2.0})),
    ],
)
def test_a_quota_is_read(text: str, spec: QuotaSpec) -> None:
    assert parse_quota(text) == spec


@pytest.mark.parametrize(
    ("text", "acl"),
    [
        ("topic=orders,operation=write", {"resource_type": "topic", "name": "orders", "operation": "write"}),
        (
            "transactional-id=a, operation=Describe, principal=User:CN=alice,O=x,host=10.0.0.0/8",
            {
                "resource_type": "transactional-id",
                "name": "a",
                "operation": "Describe",
                "principal": "User:CN=alice,O=x",
                "host": "10.0.0.0/8",
            },
        ),
        (
            "topic=t,operation=read,principal=User:CN=a\\,host=b,1.2.840.113549.1.9.1=#1601,emailAddress=x, OU = y",
            {
                "resource_type": "topic",
                "name": "t",
                "operation": "read",
                "principal": "User:CN=a\\,host=b,1.2.840.113549.1.9.1=#1601,emailAddress=x, OU = y",
            },
        ),
        (
            "topic=t,operation=read,principal=User:CN=a\\\\,host=10.0.0.1",
            {
                "resource_type": "topic",
                "name": "t",
                "operation": "read",
                "principal": "User:CN=a\\\\",
                "host": "10.0.0.1",
            },
        ),
        (
            "group=a\\,operation=read,principal=User:O=a,CN=b\\,c",
            {"resource_type": "group", "name": "a\\", "operation": "read", "principal": "User:O=a,CN=b\\,c"},
        ),
        (
            "topic=t,operation=read,principal=User:a\\,b,host=0:0:0:0:0:0:0:1",
            {
                "resource_type": "topic",
                "name": "t",
                "operation": "read",
                "principal": "User:a\\,b",
                "host": "0:0:0:0:0:0:0:1",
            },
        ),
        (
            "group=a,b,operation=read,permission=deny,pattern=prefixed",
            {"resource_type": "group", "name": "a,b", "operation": "read", "permission": "deny", "pattern": "prefixed"},
        ),
        (
            "cluster=kafka-cluster,operation=all",
            {"resource_type": "cluster", "name": "kafka-cluster", "operation": "all"},
        ),
    ],
)
def test_an_acl_is_read(text: str, acl: dict[str, str]) -> None:
    assert parse_acl(text) == acl


ASSIGNED = r"is not NAME=\[\[BROKER,...\],...\]\[,config=value...\], as in kafkatest=\[\[3,1\],\[1,2\]\]"
ACL = "is not RESOURCE=NAME,operation=OPERATION.*, as in topic=orders,operation=read,principal=User:alice"
ONE_RESOURCE = "'topic=a,group=b,operation=read' has 'group=b': an ACL has one resource, so make one more for that"
OF_A = "topic=a,operation=read,principal=User:CN=a"
QUOTA = "is not ENTITY=NAME.*, as in client-id=loader,producer_byte_rate=1000"


@pytest.mark.parametrize(
    ("read", "text", "sentence"),
    [
        (parse_topic, "t=[[1,2]", ASSIGNED),
        (parse_topic, "t=[1,2]", ASSIGNED),
        (parse_topic, "t=[]", ASSIGNED),
        (parse_topic, "t=[[1.5]]", ASSIGNED),
        (parse_topic, "t=[[true]]", ASSIGNED),
        (parse_topic, "t=5", ASSIGNED),
        (parse_topic, "t:2=[[1]]", "is not NAME"),
        (parse_broker_ids, "1,", "^'1,' are not whole numbers with commas between them, as in 0,1,2"),
        (parse_broker_ids, "1-3", "^'1-3' are not whole numbers"),
        (parse_feature, "a", "^'a' is not NAME=LEVEL, as in transaction.version=1"),
        (parse_feature, "a=x", "^'a=x' is not NAME=LEVEL, as in transaction.version=1"),
        (parse_rack, "a", "^'a' is not BROKER=RACK, as in 1=a"),
        (parse_rack, "1=", "^'1=' is not BROKER=RACK, as in 1=a"),
        (parse_rack, "x=a", "^'x=a' is not BROKER=RACK, as in 1=a"),
        (parse_acl, "orders", ACL),
        (parse_acl, "topic=orders", ACL),
        (parse_acl, "operation=read", ACL),
        (parse_acl, "topics=orders,operation=read", "there is no ResourceType 'topics': did you mean 'TOPIC'"),
        (parse_acl, "topic=orders,operation=raed", "there is no AclOperation 'raed': did you mean 'READ'"),
        (parse_acl, "topic=orders,operation=read,principal=alice", "alice"),
        (parse_acl, "topic=orders,operation=read,operation=write", "has 'operation' twice"),
        (parse_acl, "topic=a,group=b,operation=read", ONE_RESOURCE),
        (parse_acl, "topic=a,operation=read,principal=User:a,Group=b", "'Group=b': an ACL has one resource"),
        (parse_acl, "topic=a,operation=read,host=*,transactional_id=b", "an ACL has one resource"),
        (parse_acl, "topic=a,hots=*,operation=read", "'hots=\\*': an ACL has no 'hots'; did you mean 'host'?"),
        (parse_acl, "topic=a,operation=read,host=*,prinzipal=b", "no 'prinzipal'; did you mean 'principal'?"),
        (
            parse_acl,
            f"{OF_A},permissions=deny",
            "'permissions=deny': neither .* name has .*; did you mean 'permission'",
        ),
        (parse_acl, f"{OF_A},O=x,Permission=deny", "'Permission=deny': neither .* did you mean 'permission'"),
        (parse_acl, f"{OF_A}, hosts = b", "'hosts = b': neither an ACL nor a certificate's name has 'hosts'; did you"),
        (parse_acl, f"{OF_A},foo=b", "has 'foo=b': .* has 'foo'; there are operation, principal, host, permission, p"),
        (parse_acl, f"{OF_A},host", "has 'host' without a value"),
        (parse_acl, f"{OF_A},1.2.x=b", "has '1.2.x=b': neither an ACL"),
        (parse_acl, "principal=User:a,topic=o,operation=read", "begins with 'principal': the resource comes first, as"),
        (parse_acl, "operation=read,topic=o", "begins with 'operation': the resource comes first"),
        (parse_acl, "topic=o,operation=read,hots=x", "'hots=x': an ACL has no 'hots'; did you mean 'host'"),
        (parse_acl, "topic=o,operation=read,permission=deny,group=x", "'group=x': an ACL has one resource"),
        (parse_acl, "host=*,operation=read", "begins with 'host': the resource comes first, as in topic=orders,"),
        (parse_acl, "topic=a,b,operation=read", "'topic=a,b,operation=read' has a comma in the name of a topic; name"),
        (
            parse_acl,
            "topic=a,operation=read,principal=User:alice,User:bob",
            "has 'User:alice' in a principal with commas",
        ),
        (parse_acl, "topic=a,operation=read,principal=User:alice,bob", "make an ACL for each principal"),
        (
            parse_acl,
            "topic=a,operation=read,principal=User:alice,name=x",
            "has 'User:alice' in a principal with commas",
        ),
        (parse_acl, "topic=a,principal=User:CN=a,bob,operation=read", "has 'bob' in a principal with commas"),
        (
            parse_acl,
            "topic=a,operation=read,host=localhost",
            "the host 'localhost' matches no client: a host is an addr",
        ),
        (parse_acl, "topic=a,operation=read,host=10.0.0.1,10.0.0.2", "the host '10.0.0.1,10.0.0.2' matches no client"),
        (parse_quota, "loader", QUOTA),
        (parse_quota, "client-id=a", "has no quota"),
        (parse_quota, "producer_byte_rate=1", "has no user or client-id"),
        (parse_quota, "client-id=a,producer_byte_rate=x", "'x' is not a number$"),
        (parse_quota, "usr=u,producer_byte_rate=1", "'u' is not a number; did you mean 'user' with 'usr'"),
        (
            parse_quota,
            "client_id=u,producer_byte_rate=1",
            "'u' is not a number; did you mean 'client-id' with 'client_id'",
        ),
    ],
)
def test_what_says_nothing_is_refused(read: Callable[[str], Any], text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read(text)
