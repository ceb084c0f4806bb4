"""Client quotas have the order of Kafka's hash tables, compared with slots and chains that grow like Java's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.core.quota.quotas_image import ClientQuotaEntity, ClientQuotasImage
from fakebroker.protocol.java_hash import java_hash
from fakebroker.protocol.slices import finish

QUOTAS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")


class Table:
    """java.util.HashMap, without trees."""

    def __init__(self, size: int) -> None:
        self.threshold = 1
        while self.threshold < size:
            self.threshold *= 2
        self.slots: list[list[tuple[Any, Any]]] = []
        self.size = 0

    def __iter__(self) -> Iterator[Any]:
        return (key for chain in self.slots for key, _ in chain)

    def resize(self) -> None:
        capacity = len(self.slots) * 2 or self.threshold
        old = [entry for chain in self.slots for entry in chain]
        self.slots = [[] for _ in range(capacity)]
        self.threshold = capacity * 3 // 4
        for entry in old:
            self.chain(entry[0]).append(entry)

    def chain(self, key: Any) -> list[tuple[Any, Any]]:
        code = hash_code(key)
        return self.slots[(code ^ code >> 16) & len(self.slots) - 1]

    def put(self, key: Any, value: Any) -> None:
        if not self.slots:
            self.resize()
        chain = self.chain(key)
        for index, (other, _) in enumerate(chain):
            if other == key:
                chain[index] = key, value
                return
        chain.append((key, value))
        self.size += 1
        if self.size > self.threshold:
            self.resize()

    def compute_if_absent(self, key: Any, value: Any) -> None:
        if self.size > self.threshold or not self.slots:
            self.resize()
        self.chain(key).insert(0, (key, value))
        self.size += 1

    def get(self, key: Any) -> Any:
        return next((value for other, value in self.chain(key) if other == key), None) if self.slots else None


def hash_code(key: Any) -> int:
    if isinstance(key, str):
        return java_hash(key) & 0xFFFFFFFF
    entries = ((java_hash(kind), 0 if name is None else java_hash(name)) for kind, name in key.entries)
    return 31 + sum((kind ^ name) & 0xFFFFFFFF for kind, name in entries) & 0xFFFFFFFF


def applied(image: Table, changes: Table, change: Any) -> Table:
    """ClientQuotasDelta.apply, and ClientQuotaDelta.apply."""
    made = Table(image.size)
    for key in image:
        value = image.get(key) if changes.get(key) is None else change(image.get(key), changes.get(key))
        if value is not None:
            made.put(key, value)
    for key in changes:
        if made.get(key) is None and (value := change(image.get(key), changes.get(key))) is not None:
            made.put(key, value)
    return made


def new_quotas(quotas: Table | None, changes: Mapping[str, float | None]) -> Table | None:
    wanted = Table(16)
    for key, value in changes.items():
        wanted.put(key, -1.0 if value is None else value)
    made = applied(quotas or Table(0), wanted, lambda before, after: None if after < 0 else after)
    return made if made.size else None


Changes = dict[ClientQuotaEntity, dict[str, float | None]]
entities = st.builds(
    lambda user, client: ClientQuotaEntity.of(
        [*([("user", user)] if user != "-" else []), *([("client-id", client)] if client != "-" else [])]
    ),
    st.sampled_from([None, *(f"User{number}" for number in range(20))]),
    st.sampled_from(["-", None, "alice", "bob", "AaAa", "BBBB", "AaBB", "BBAa"]),  # four of one hash code
)
requests: st.SearchStrategy[Changes] = st.dictionaries(
    entities, st.dictionaries(st.sampled_from(QUOTAS), st.sampled_from([None, 1.0, 2.0]), min_size=1), max_size=30
)


@given(st.lists(requests, max_size=12))
def test_the_order_is_that_of_javas_tables(drawn: list[Changes]) -> None:
    image, model = ClientQuotasImage(), Table(0)
    for request in drawn:
        changes = Table(16)
        for entity, quotas in request.items():
            image.change(entity, quotas)
            before = model.get(entity)
            real = {
                key: value
                for key, value in quotas.items()
                if (before.get(key) if before is not None else None) != value  # the controller writes no others
            }
            if real:
                changes.compute_if_absent(entity, real)
        image.publish()
        if changes.size:
            model = applied(model, changes, new_quotas)
        entries = [(entry.entity, dict(entry.quotas)) for entry in finish(image.found({}, ()))]
        assert [entity for entity, _ in entries] == list(model)
        assert [list(quotas.items()) for _, quotas in entries] == [
            [(key, model.get(entity).get(key)) for key in model.get(entity)] for entity in model
        ]


def test_the_quotas_of_a_user_with_a_client_id() -> None:
    image, entity = ClientQuotasImage(), ClientQuotaEntity.of([("user", "User1"), ("client-id", "Client1")])
    image.change(entity, dict.fromkeys(QUOTAS[:3], 5.0))
    image.publish()
    assert list(image.of(entity)) == ["consumer_byte_rate", "request_percentage", "producer_byte_rate"]
    image.change(entity, {QUOTAS[3]: 5.0})
    image.publish()
    assert list(image.of(entity)) == [
        "producer_byte_rate",
        "consumer_byte_rate",
        "controller_mutation_rate",
        "request_percentage",
    ]
