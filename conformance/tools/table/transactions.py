"""Transactions that are open, and one that hangs: how it is found, and ended."""

from __future__ import annotations

from conformance.tools.command import Chapter, Command, Open

# The coordinator, ids of producers, and how long ago it was.
_DESCRIBED = {r"^\d+(\s+hanging-\w+\s+)\d+": r"C\1N", r"(Ongoing\s+\d+\s+)\d+\s+\d+": r"\1START DURATION"}
_PRODUCERS = {r"^\d+(\s+\d+\s+-?\d+\s+-?\d+\s)": r"N\1"}
_HANGING = {r"^(hanging-b\s+0\s+)\d+(.*\s)\d+[ \t]*$": r"\1N\2MINUTES"}
_LISTED = {r"^(?!hanging-|TransactionalId).*\n?": "", r"^(hanging-\w+\s+)\d\s+\d+": r"\1C N"}

HANGING = Chapter(
    "hanging",
    "Transactions that hang",
    (
        Command("kafka-topics --create --topic hanging-a --replica-assignment 1:2:3 --config retention.ms=-1"),
        Command("kafka-topics --create --topic hanging-b --replica-assignment 1:2:3 --config retention.ms=-1"),
        # The leader takes records of transactions without asking the coordinator: as all did before KIP-890.
        Command(
            "kafka-configs --alter --entity-type brokers --entity-default --add-config transaction.partition.verification.enable=false"
        ),
        Open("hanging-a", "hanging-known"),
        Open("hanging-b", "hanging-lost", is_told=False),
        Command("kafka-transactions list", mask=_LISTED, unordered=True),
        Command("kafka-transactions list --transactional-id-pattern hanging-k.*", mask=_LISTED),
        Command("kafka-transactions list --duration-filter 3600000", mask=_LISTED),
        Command("kafka-transactions describe --transactional-id hanging-known", mask=_DESCRIBED),
        Command("kafka-transactions describe --transactional-id hanging-lost", mask=_DESCRIBED),
        Command("kafka-transactions describe-producers --topic hanging-a --partition 0", mask=_PRODUCERS),
        Command("kafka-transactions describe-producers --topic hanging-b --partition 0 --broker-id 2", mask=_PRODUCERS),
        Command("kafka-transactions find-hanging"),
        Command("kafka-transactions find-hanging --broker 9"),
        Command("kafka-transactions find-hanging --topic hanging-none"),
        Command("kafka-transactions find-hanging --topic hanging-a"),
        Command("kafka-transactions find-hanging --topic hanging-b", mask=_HANGING),
        Command(
            "kafka-transactions find-hanging --topic hanging-b --partition 0 --max-transaction-timeout 1", mask=_HANGING
        ),
        Command("kafka-transactions find-hanging --broker 1", mask=_HANGING),
        Command(
            "kafka-console-consumer --topic hanging-b --from-beginning --isolation-level read_committed --timeout-ms 2000"
        ),
        Command(
            "kafka-console-consumer --topic hanging-b --from-beginning --isolation-level read_uncommitted --max-messages 1"
        ),
        Command("kafka-transactions abort --topic hanging-b --partition 0"),
        Command("kafka-transactions abort --topic hanging-b --partition 0 --start-offset 7"),
        Command("kafka-transactions abort --topic hanging-b --partition 0 --start-offset 0"),
        Command("kafka-transactions find-hanging --broker 1"),
        Command("kafka-transactions describe-producers --topic hanging-b --partition 0", mask=_PRODUCERS),
        Command("kafka-transactions forceTerminateTransaction --transactionalId hanging-known"),
        Command("kafka-transactions forceTerminateTransaction --transactionalId hanging-none"),
        Command("kafka-transactions list", until=r"hanging-known\s+\d\s+\d+\s+Empty", mask=_LISTED, unordered=True),
        Command("kafka-transactions describe-producers --topic hanging-a --partition 0", mask=_PRODUCERS),
        Command("kafka-get-offsets --topic hanging-a"),
        Command(
            "kafka-configs --alter --entity-type brokers --entity-default --delete-config transaction.partition.verification.enable"
        ),
    ),
)
