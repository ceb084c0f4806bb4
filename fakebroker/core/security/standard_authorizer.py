"""Kafka's StandardAuthorizer: the bindings of the cluster, and its decision whether a principal may do something.

Theory   A super user may do everything. For others, bindings count that match: their pattern the resource, their
         principal and host the client. One DENY of the operation or of ALL refuses. Else one ALLOW of the operation,
         of ALL, or of an operation that implies it allows. READ, WRITE, DELETE and ALTER imply DESCRIBE; ALTER_CONFIGS
         implies DESCRIBE_CONFIGS; only for ALLOW. Without either the request is refused. If no pattern matches the
         resource, whatever the principal, `allow.everyone.if.no.acl.found` allows everything on it.
         Bindings are found by pattern, then by principal and host. The patterns are the name, "*", and each prefix of
         the name that is as long as some prefixed pattern. So a decision costs a few look-ups, however many bindings
         there are. Only the networks (CIDR) of a principal and a pattern are tried one by one.
Source   metadata/.../metadata/authorizer/{StandardAuthorizer,StandardAuthorizerData,StandardAcl}.java;
         clients/.../server/authorizer/Authorizer.java authorizeByResourceType @ 4.4
Differs  Kafka fails on a resource with a name that sorts before "*", if a binding has a longer name with the same
         beginning. Here it is decided as any other. There is one object for all brokers, so a change applies at once.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Final, final

from fakebroker.core.security.acl_binding import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from fakebroker.core.security.cidr import is_in_range
from fakebroker.core.security.identity import KafkaPrincipal

_LITERAL, _PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
_REMEMBERED: Final = 1_024  # decisions by resource type


def _bits(operations: Iterable[AclOperation]) -> int:
    return reduce(or_, (1 << operation for operation in operations))


_O = AclOperation
_IMPLY: Final = {
    _O.DESCRIBE: (_O.READ, _O.WRITE, _O.DELETE, _O.ALTER),
    _O.DESCRIBE_CONFIGS: (_O.ALTER_CONFIGS,),
}
# The operations that refuse an operation, and those that allow it, as bits.
_DENYING: Final = {operation: _bits((operation, _O.ALL)) for operation in _O}
_ALLOWING: Final = {operation: _bits((operation, _O.ALL, *_IMPLY.get(operation, ()))) for operation in _O}


@final
class _Rules:
    """The bindings of one pattern: the allowed and the refused operations, as bits, by principal and host."""

    __slots__ = ("allowed", "denied", "networks")

    def __init__(self) -> None:
        self.allowed: dict[tuple[str, str], int] = {}
        self.denied: dict[tuple[str, str], int] = {}
        self.networks: dict[str, Counter[str]] = {}  # by principal; how many bindings have it

    def change(self, binding: AclBinding, is_added: bool) -> None:
        bits = self.allowed if binding.permission_type is AclPermissionType.ALLOW else self.denied
        subject, bit = (binding.principal, binding.host), 1 << binding.operation
        bits[subject] = bits.get(subject, 0) ^ bit
        if not bits[subject]:
            del bits[subject]
        if "/" in binding.host:
            networks = self.networks.setdefault(binding.principal, Counter())
            networks[binding.host] += 1 if is_added else -1
            if not networks[binding.host]:
                del networks[binding.host]
            if not networks:
                del self.networks[binding.principal]

    @property
    def is_empty(self) -> bool:
        return not self.allowed and not self.denied

    def of(self, principal: str, host: str) -> tuple[int, int]:
        """Return the allowed and the refused operations of a client."""
        allowed = denied = 0
        for name in (principal, WILDCARD_PRINCIPAL):
            hosts = [host, WILDCARD]
            if self.networks:
                hosts += [network for network in self.networks.get(name, ()) if is_in_range(host, network)]
            for host_pattern in hosts:
                allowed |= self.allowed.get((name, host_pattern), 0)
                denied |= self.denied.get((name, host_pattern), 0)
        return allowed, denied


@final
class StandardAuthorizer:
    """The bindings of a cluster, and the decisions. `super_users` are texts, "User:admin"."""

    def __init__(self, super_users: frozenset[str], allow_if_no_acl: bool) -> None:
        self._super_users = super_users
        self._allow_if_no_acl = allow_if_no_acl
        self._bindings: dict[AclBinding, None] = {}
        self._rules: dict[ResourceType, dict[tuple[PatternType, str], _Rules]] = {kind: {} for kind in ResourceType}
        # The lengths of prefixed patterns, in order, and how many patterns have each.
        self._lengths: dict[ResourceType, list[int]] = {kind: [] for kind in ResourceType}
        self._counts: dict[ResourceType, Counter[int]] = {kind: Counter() for kind in ResourceType}
        self._by_type: dict[tuple[str, str, AclOperation, ResourceType], bool] = {}

    # The bindings.

    def __contains__(self, binding: AclBinding) -> bool:
        return binding in self._bindings

    def bindings(self) -> Sequence[AclBinding]:
        """Return all bindings, the oldest first."""
        return list(self._bindings)

    def add(self, binding: AclBinding) -> None:
        """Add a binding. One that exists already changes nothing."""
        if binding in self._bindings:
            return
        self._bindings[binding] = None
        self._by_type.clear()
        rules = self._rules[binding.resource_type]
        pattern = binding.pattern_type, binding.resource_name
        if pattern not in rules:
            rules[pattern] = _Rules()
            if binding.pattern_type is _PREFIXED:
                self._count(binding.resource_type, len(binding.resource_name), 1)
        rules[pattern].change(binding, True)

    def remove(self, binding: AclBinding) -> None:
        """Remove a binding. One that does not exist changes nothing."""
        if binding not in self._bindings:
            return
        del self._bindings[binding]
        self._by_type.clear()
        rules = self._rules[binding.resource_type]
        pattern = binding.pattern_type, binding.resource_name
        rules[pattern].change(binding, False)
        if rules[pattern].is_empty:
            del rules[pattern]
            if binding.pattern_type is _PREFIXED:
                self._count(binding.resource_type, len(binding.resource_name), -1)

    def _count(self, kind: ResourceType, length: int, change: int) -> None:
        counts, lengths = self._counts[kind], self._lengths[kind]
        counts[length] += change
        if counts[length] == 0:
            del counts[length]
            del lengths[bisect_left(lengths, length)]
        elif change > 0 and counts[length] == 1:
            insort(lengths, length)

    # Decisions.

    def authorize(
        self, principal: KafkaPrincipal, host: str, operation: AclOperation, kind: ResourceType, name: str
    ) -> bool:
        """Return True if a client may do the operation on the resource. `host` is its address as Java writes it."""
        subject = str(principal)
        if subject in self._super_users:
            return True
        denying, allowing = _DENYING[operation], _ALLOWING[operation]
        allowed = 0
        has_acl = False
        for rules in self._matching(kind, name):
            has_acl = True
            may, must_not = rules.of(subject, host)
            if must_not & denying:
                return False
            allowed |= may & allowing
        return bool(allowed) or (self._allow_if_no_acl and not has_acl)

    def _matching(self, kind: ResourceType, name: str) -> Iterator[_Rules]:
        """Return the rules of all patterns that match a resource."""
        rules = self._rules[kind]
        if not rules:
            return
        for literal in (name, WILDCARD):
            if (matching := rules.get((_LITERAL, literal))) is not None:
                yield matching
        for length in self._lengths[kind]:
            if length > len(name):
                return
            if (matching := rules.get((_PREFIXED, name[:length]))) is not None:
                yield matching

    def authorize_by_resource_type(
        self, principal: KafkaPrincipal, host: str, operation: AclOperation, kind: ResourceType
    ) -> bool:
        """Return True if a client may do the operation on any resource of the type: a pattern allows it, and no other
        refuses it for all that this one matches. Operations that imply it do not count, as in Kafka."""
        key = str(principal), host, operation, kind
        decision = self._by_type.get(key)
        if decision is None:
            if len(self._by_type) >= _REMEMBERED:
                self._by_type.clear()
            # Kafka tries a fixed name, so that super users, and all if there are no ACLs, are allowed.
            decision = self.authorize(principal, host, operation, kind, "hardcode") or self._is_any_allowed(*key)
            self._by_type[key] = decision
        return decision

    def _is_any_allowed(self, subject: str, host: str, operation: AclOperation, kind: ResourceType) -> bool:
        bits = _DENYING[operation]
        allowed: list[tuple[PatternType, str]] = []
        denied: set[tuple[PatternType, str]] = set()
        for pattern, rules in self._rules[kind].items():
            may, must_not = rules.of(subject, host)
            if must_not & bits:
                denied.add(pattern)
            if may & bits:
                allowed.append(pattern)
        if (_LITERAL, WILDCARD) in denied:
            return False
        if (_LITERAL, WILDCARD) in allowed:
            return True
        lengths = sorted({len(name) for pattern_type, name in denied if pattern_type is _PREFIXED})
        for pattern_type, name in allowed:
            if pattern_type is _LITERAL and (_LITERAL, name) in denied:
                continue
            if not any((_PREFIXED, name[:length]) in denied for length in lengths if length <= len(name)):
                return True
        return False

    def check_invariants(self) -> None:
        for kind, rules in self._rules.items():
            prefixes = [name for pattern_type, name in rules if pattern_type is _PREFIXED]
            assert self._lengths[kind] == sorted(set(map(len, prefixes)))
            assert self._counts[kind] == Counter(map(len, prefixes))
            patterns = {
                (binding.pattern_type, binding.resource_name)
                for binding in self._bindings
                if binding.resource_type is kind
            }
            assert patterns == set(rules)
