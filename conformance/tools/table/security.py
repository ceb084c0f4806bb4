"""ACLs, SCRAM credentials and delegation tokens over SASL_SSL."""

from __future__ import annotations

from conformance.tools.command import Chapter, Command

_MODULES = "org.apache.kafka.common.security"


def _settings(mechanism: str, user: str, password: str, more: str = "") -> str:
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    return (
        "security.protocol=SASL_SSL\nssl.truststore.type=PKCS12\nssl.truststore.location={truststore}\n"
        f"ssl.truststore.password=fakebroker\nsasl.mechanism={mechanism}\n"
        f'sasl.jaas.config={_MODULES}.{module} required username="{user}" password="{password}"{more};\n'
    )


_FILES = {
    "admin": _settings("PLAIN", "admin", "secret"),
    "stranger": _settings("PLAIN", "admin", "wrong"),
    "carol": _settings("SCRAM-SHA-256", "carol", "word"),
    "carol-512": _settings("SCRAM-SHA-512", "carol", "other"),
    "token": _settings("SCRAM-SHA-256", "{token-id}", "{hmac}", ' tokenauth="true"'),
    "forged": _settings("SCRAM-SHA-256", "{token-id}", "forged", ' tokenauth="true"'),
}


def _as(user: str, line: str, **options: object) -> Command:
    return Command(f"{line} --command-config {{folder}}/{user}.properties", **options)  # type: ignore[arg-type]


_TOKEN = "kafka-delegation-tokens"
_TIMES = {r"\d{4}-\d\d-\d\dT\d\d:\d\d": "TIME"}
_SET = {r"operations \[.*\]": "operations"}  # in the order of a set of Java
_SCRAM = "kafka-configs --entity-type users --entity-name carol"
_SHA_256, _SHA_512 = "SCRAM-SHA-256=[iterations=4096,password=word]", "SCRAM-SHA-512=[iterations=8192,password=other]"
_PREFIXED = "--resource-pattern-type prefixed --topic secured-p"

CREDENTIALS = (
    _as("stranger", "kafka-topics --list"),
    _as("carol", "kafka-topics --list"),
    _as("admin", f"{_SCRAM} --describe"),
    _as("admin", f"{_SCRAM} --alter --add-config '{_SHA_256},{_SHA_512}'"),
    _as("admin", f"{_SCRAM} --alter --add-config '{_SHA_256}'"),
    _as("admin", f"{_SCRAM} --alter --add-config '{_SHA_512}'"),
    _as("admin", f"{_SCRAM} --describe", until="SCRAM-SHA-512"),
    _as("admin", "kafka-configs --entity-type users --describe"),
    _as("carol", "kafka-topics --list", until=r"^\s*$"),
    _as("carol-512", "kafka-topics --list", until=r"^\s*$"),
    _as("carol", f"{_SCRAM} --alter --add-config 'SCRAM-SHA-256=[iterations=4096,password=mine]'"),
    _as("carol", f"{_SCRAM} --describe"),
    _as("admin", f"{_SCRAM} --alter --add-config 'SCRAM-SHA-256=[iterations=1,password=word]'"),
    _as("admin", f"{_SCRAM} --alter --delete-config SCRAM-SHA-512"),
    _as("admin", f"{_SCRAM} --describe", until=r"SCRAM-SHA-256=iterations=4096$"),
    _as("carol-512", "kafka-topics --list", until="SaslAuthenticationException"),
    _as("admin", f"{_SCRAM} --alter --delete-config SCRAM-SHA-512"),
)

ACLS = (
    _as("admin", "kafka-topics --create --topic secured-a --partitions 1 --replication-factor 1"),
    _as("admin", "kafka-acls --list"),
    _as("carol", "kafka-acls --list"),
    _as("carol", "kafka-topics --create --topic secured-b"),
    _as("carol", "kafka-topics --describe --topic secured-a"),
    _as("admin", "kafka-acls --add --allow-principal User:carol --producer --topic secured-a", unordered=True),
    _as("admin", "kafka-acls --add --allow-principal User:carol --consumer --topic secured-a --group secured-g", unordered=True),
    _as("admin", f"kafka-acls --add --allow-principal User:carol --deny-principal User:dave --operation All {_PREFIXED}", unordered=True),
    _as("admin", "kafka-acls --add --allow-principal User:carol --operation Write --transactional-id secured-t", unordered=True),
    _as("admin", "kafka-acls --add --allow-principal User:dave --allow-host 10.0.0.1 --operation Alter --cluster", unordered=True),
    _as("admin", "kafka-acls --list", unordered=True),
    _as("admin", "kafka-acls --list --topic secured-a", unordered=True),
    _as("admin", "kafka-acls --list --topic secured-p1 --resource-pattern-type match", unordered=True),
    _as("admin", "kafka-acls --list --principal User:dave", unordered=True),
    _as("carol", "kafka-topics --list", until="secured-a"),
    _as("carol", "kafka-topics --create --topic secured-p1 --partitions 1 --replication-factor 1"),
    _as("carol", "kafka-acls --add --allow-principal User:carol --operation Read --topic secured-c"),
    _as("carol", "kafka-consumer-groups --describe --group secured-h"),
    _as("admin", "kafka-acls --remove --force --allow-principal User:carol --operation Write --topic secured-a", unordered=True),
    _as("admin", f"kafka-acls --remove --force {_PREFIXED}", unordered=True),
    _as("admin", "kafka-acls --remove --force --topic secured-none"),
    _as("admin", "kafka-acls --list", unordered=True),
    _as("admin", "kafka-acls --add --allow-principal carol --operation Read --topic secured-a"),
    _as("admin", "kafka-acls --add --allow-principal User:carol --operation Create --group secured-g", mask=_SET),
)  # fmt: skip

_KEPT = {"token-id": r"\n(\S{22})\s", "hmac": r"\n\S{22}\s+(\S+)\s"}

TOKENS = (
    _as("admin", f"{_TOKEN} --describe"),
    _as("carol", f"{_TOKEN} --create --max-life-time-period -1 --renewer-principal User:dave", keep=_KEPT, mask=_TIMES),
    _as("carol", f"{_TOKEN} --describe", mask=_TIMES),
    _as("admin", f"{_TOKEN} --describe --owner-principal User:carol", mask=_TIMES),
    _as("admin", f"{_TOKEN} --describe --owner-principal User:nobody", mask=_TIMES),
    _as("token", "kafka-topics --list", until="secured-a"),
    _as("forged", "kafka-topics --list"),
    _as("token", f"{_TOKEN} --create --max-life-time-period -1"),
    _as("carol", f"{_TOKEN} --renew --renew-time-period 3600000 --hmac {{hmac}}", mask=_TIMES),
    _as("carol", f"{_TOKEN} --renew --renew-time-period 3600000 --hmac Zm9yZ2Vk"),
    _as("stranger", f"{_TOKEN} --renew --renew-time-period -1 --hmac {{hmac}}"),
    _as("carol", f"{_TOKEN} --expire --expiry-time-period -1 --hmac {{hmac}}", mask=_TIMES),
    _as("carol", f"{_TOKEN} --describe", until=r"MAXDATE\s*$"),
    _as("token", "kafka-topics --list", until="SaslAuthenticationException"),
    _as("carol", f"{_TOKEN} --expire --expiry-time-period -1 --hmac {{hmac}}"),
)

SECURED = Chapter(
    "secured",
    "Users, ACLs and delegation tokens over SASL_SSL",
    (*CREDENTIALS, *ACLS, *TOKENS),
    {f"{name}.properties": text for name, text in _FILES.items()},
    is_secured=True,
)
