"""StandardAuthorizer: the rules one by one, and random bindings against a naive reading of all of them."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from fakebroker.core.security.acl_binding import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from fakebroker.core.security.identity import KafkaPrincipal
from fakebroker.core.security.standard_authorizer import StandardAuthorizer

ALICE = KafkaPrincipal("User", "alice")
HOST = "10.1.2.3"
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
READ, WRITE, DESCRIBE, ALL = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.ALL
DENY, ALLOW = AclPermissionType.DENY, AclPermissionType.ALLOW


def binding(
    name: str = "orders",
    operation: AclOperation = READ,
    permission: AclPermissionType = ALLOW,
    *,
    kind: ResourceType = TOPIC,
    pattern: PatternType = LITERAL,
    principal: str = "User:alice",
    host: str = "*",
) -> AclBinding:
    return AclBinding(kind, name, pattern, principal, host, operation, permission)


def authorizer(*bindings: AclBinding, super_users: str = "", allow_if_no_acl: bool = False) -> StandardAuthorizer:
    made = StandardAuthorizer(frozenset(super_users.split()), allow_if_no_acl)
    for acl in bindings:
        made.add(acl)
    return made


def allows(
    made: StandardAuthorizer, operation: AclOperation = READ, name: str = "orders", kind: ResourceType = TOPIC
) -> bool:
    return made.authorize(ALICE, HOST, operation, kind, name)


def test_nothing_is_allowed_without_a_binding() -> None:
    assert not allows(authorizer())


def test_a_super_user_may_do_everything_even_what_is_denied() -> None:
    assert allows(authorizer(binding(permission=DENY), super_users="User:alice"))


def test_a_literal_pattern_matches_its_own_resource_only() -> None:
    made = authorizer(binding("orders"))

    assert allows(made, name="orders")
    assert not allows(made, name="orders-2")
    assert not allows(made, kind=GROUP)


def test_a_prefixed_pattern_matches_all_names_that_begin_with_it() -> None:
    made = authorizer(binding("ord", pattern=PREFIXED))

    assert [allows(made, name=name) for name in ("ord", "orders", "or", "xord")] == [True, True, False, False]


def test_a_literal_asterisk_matches_all_resources_and_a_prefixed_one_names_with_an_asterisk() -> None:
    assert allows(authorizer(binding("*")))
    assert not allows(authorizer(binding("*", pattern=PREFIXED)))


def test_a_denial_wins_whatever_is_allowed() -> None:
    assert not allows(authorizer(binding(), binding("*", ALL, DENY)))
    assert not allows(authorizer(binding(), binding("or", READ, DENY, pattern=PREFIXED)))
    assert allows(authorizer(binding(), binding(operation=WRITE, permission=DENY)))


def test_allowed_operations_imply_describe_and_denied_ones_do_not() -> None:
    implying = (READ, WRITE, AclOperation.DELETE, AclOperation.ALTER)
    for operation in AclOperation:
        is_implied = operation in (*implying, DESCRIBE, ALL)
        assert allows(authorizer(binding(operation=operation)), DESCRIBE) is is_implied
    assert allows(authorizer(binding(operation=AclOperation.ALTER_CONFIGS)), AclOperation.DESCRIBE_CONFIGS)
    assert allows(authorizer(binding(operation=DESCRIBE), binding(permission=DENY)), DESCRIBE)


def test_host_and_principal_have_to_match() -> None:
    assert allows(authorizer(binding(host=HOST)))
    assert not allows(authorizer(binding(host="10.1.2.4")))
    assert allows(authorizer(binding(host="10.0.0.0/8")))
    assert not allows(authorizer(binding(host="10.2.0.0/16")))
    assert allows(authorizer(binding(principal="User:*")))
    assert not allows(authorizer(binding(principal="User:bob")))
    assert not allows(authorizer(binding(principal="Group:*")))


def test_a_resource_without_any_binding_is_open_if_that_is_set() -> None:
    made = authorizer(binding(principal="User:bob"), allow_if_no_acl=True)

    assert allows(made, name="payments")
    assert not allows(made, name="orders")


def test_a_removed_binding_has_no_effect() -> None:
    made = authorizer(binding(), binding("or", pattern=PREFIXED), binding(host="10.0.0.0/8"))
    for acl in made.bindings():
        made.remove(acl)
        made.remove(acl)

    assert not allows(made)
    made.check_invariants()


def test_ten_thousand_bindings_cost_a_decision_no_more_than_their_lengths() -> None:
    made = authorizer(*(binding(f"t{number:05}", pattern=PREFIXED) for number in range(10_000)))

    assert len(list(made._matching(TOPIC, "t00042-x"))) == 1
    assert made._lengths[TOPIC] == [6]


NAMES = st.sampled_from(["*", "a", "ab", "abc", "b", "abd", "hardcode"])
PRINCIPALS = st.sampled_from(["User:alice", "User:bob", "User:*"])
HOSTS = st.sampled_from(["*", HOST, "10.9.9.9", "10.1.0.0/16", "192.168.0.0/16"])
OPERATIONS = st.sampled_from([READ, WRITE, DESCRIBE, ALL, AclOperation.ALTER_CONFIGS, AclOperation.DESCRIBE_CONFIGS])
BINDINGS = st.builds(
    AclBinding,
    st.sampled_from([TOPIC, GROUP]),
    NAMES,
    st.sampled_from([LITERAL, PREFIXED]),
    PRINCIPALS,
    HOSTS,
    OPERATIONS,
    st.sampled_from([DENY, ALLOW]),
)
_IN_ITS_NETWORK = {"*": True, HOST: True, "10.9.9.9": False, "10.1.0.0/16": True, "192.168.0.0/16": False}


def _concerns(each: AclBinding, kind: ResourceType, name: str) -> bool:
    if each.resource_type is not kind:
        return False
    if each.pattern_type is PREFIXED:
        return name.startswith(each.resource_name)
    return each.resource_name in (name, "*")


def _is_of_alice(each: AclBinding) -> bool:
    return each.principal in ("User:alice", "User:*") and _IN_ITS_NETWORK[each.host]


def naive(bindings: set[AclBinding], allow_if_no_acl: bool, operation: AclOperation, name: str) -> bool:
    """Read all bindings, one after the other, as the documentation of the rule is written."""
    concerned = [acl for acl in bindings if _concerns(acl, TOPIC, name)]
    if not concerned:
        return allow_if_no_acl
    own = [acl for acl in concerned if _is_of_alice(acl)]
    if any(acl.permission_type is DENY and acl.operation in (operation, ALL) for acl in own):
        return False
    enough = {operation, ALL}
    if operation is DESCRIBE:
        enough |= {READ, WRITE}
    if operation is AclOperation.DESCRIBE_CONFIGS:
        enough |= {AclOperation.ALTER_CONFIGS}
    return any(acl.permission_type is ALLOW and acl.operation in enough for acl in own)


def naive_by_type(bindings: set[AclBinding], allow_if_no_acl: bool, operation: AclOperation) -> bool:
    """Ask whether some pattern that allows is not covered by one that denies."""
    if naive(bindings, allow_if_no_acl, operation, "hardcode"):
        return True
    own = [
        acl
        for acl in bindings
        if acl.resource_type is TOPIC and _is_of_alice(acl) and acl.operation in (operation, ALL)
    ]
    denied = [acl for acl in own if acl.permission_type is DENY]
    if any(acl.pattern_type is LITERAL and acl.resource_name == "*" for acl in denied):
        return False
    for acl in own:
        if acl.permission_type is ALLOW:
            if acl.pattern_type is LITERAL and acl.resource_name == "*":
                return True
            same = any(
                other.pattern_type is LITERAL is acl.pattern_type and other.resource_name == acl.resource_name
                for other in denied
            )
            covered = any(
                other.pattern_type is PREFIXED and acl.resource_name.startswith(other.resource_name) for other in denied
            )
            if not same and not covered:
                return True
    return False


@given(st.lists(BINDINGS), st.sets(st.integers(0, 30)), st.booleans())
def test_decisions_are_those_of_a_naive_reading(given_: list[AclBinding], removed: set[int], open_: bool) -> None:
    made = authorizer(*given_, allow_if_no_acl=open_)
    for place in removed:
        if place < len(given_):
            made.remove(given_[place])
    left = set(made.bindings())
    made.check_invariants()

    for operation in (READ, WRITE, DESCRIBE, AclOperation.DESCRIBE_CONFIGS):
        for name in ("a", "abc", "abcd", "x", "*"):
            assert allows(made, operation, name) is naive(left, open_, operation, name), (operation, name)
        for _ in range(2):  # the second time it is remembered
            by_type = made.authorize_by_resource_type(ALICE, HOST, operation, TOPIC)
            assert by_type is naive_by_type(left, open_, operation)


@given(st.lists(BINDINGS, min_size=1), st.lists(st.tuples(st.booleans(), st.integers(0, 30))), st.booleans())
@example([binding()], [(True, 0), (False, 0), (True, 0)], False)
def test_a_remembered_decision_is_forgotten_when_bindings_change(
    known: list[AclBinding], changes: list[tuple[bool, int]], open_: bool
) -> None:
    made = authorizer(allow_if_no_acl=open_)
    for is_added, place in changes:
        (made.add if is_added else made.remove)(known[place % len(known)])
        by_type = made.authorize_by_resource_type(ALICE, HOST, READ, TOPIC)
        assert by_type is naive_by_type(set(made.bindings()), open_, READ)
