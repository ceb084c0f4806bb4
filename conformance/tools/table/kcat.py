"""kcat, and so librdkafka, as many use them."""

from __future__ import annotations

from conformance.tools.command import Chapter, Command

_RECORDS = "".join(f"k{i}:v{i}\n" for i in range(10))

KCAT = Chapter(
    "kcat",
    "kcat",
    (
        Command("kafka-topics --create --topic kcat-a --replica-assignment 1:2:3,2:3:1"),
        Command("kcat -P -t kcat-a -p 0", stdin="one\ntwo\nthree\n"),
        Command("kcat -P -t kcat-a -K : -z lz4 -X acks=all", stdin=_RECORDS),
        Command("kcat -P -t kcat-a -p 1 -H h=1 -z zstd -X enable.idempotence=true", stdin="with a header\n"),
        Command(
            "kcat -L -t kcat-a",
            mask={
                r"broker \d at (BROKER\d)( \(controller\))?": r"broker at \1",
                r"from broker -?\d+: .*": "from broker",
            },
            unordered=True,
        ),
        Command("kcat -L -J -t kcat-a", mask={r'"originating_broker":\{.*?\}': "", r'"controllerid":\d': ""}),
        Command("kcat -C -t kcat-a -e -q", unordered=True),
        Command("kcat -C -t kcat-a -p 0 -o 1 -c 2 -e"),
        Command("kcat -C -t kcat-a -p 1 -o beginning -e -q -f '%t %p %k %s %h %S\\n'", unordered=True),
        Command("kcat -C -t kcat-a -p 0 -o -1 -e -q -f '%o %s\\n'"),
        Command("kcat -C -t kcat-a -p 0 -o s@0 -o e@9999999999999 -e -q -f '%o\\n'"),
        Command("kcat -Q -t kcat-a:0:-1 -t kcat-a:1:-2 -t kcat-a:0:0", unordered=True),
        Command("kcat -G kcat-g -X auto.offset.reset=earliest -e -q kcat-a", unordered=True, limit_s=15),
        Command("kcat -G kcat-g -X auto.offset.reset=earliest -e -q kcat-a", limit_s=15),
        Command("kafka-consumer-groups --describe --group kcat-g", until="has no active members"),
        Command("kcat -P -t kcat-a -p 0", stdin="after\n"),
        Command("kcat -G kcat-g -X partition.assignment.strategy=cooperative-sticky -e -q kcat-a", limit_s=15),
        Command(
            "kcat -G kcat-s -X group.instance.id=kcat-one -X auto.offset.reset=earliest -c 3 -q kcat-a",
            mask={".+": "RECORD"},
        ),
        Command("kafka-consumer-groups --describe --group kcat-s --members", mask={r"rdkafka-\S+": "MEMBER"}),
        Command("kcat -C -t kcat-none -e -q"),
        Command("kafka-consumer-groups --delete --group kcat-g"),
    ),
)
