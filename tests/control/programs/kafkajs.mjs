// A stock client and the helper: what it is answered when its followers are frozen, at once.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { Fakebroker } from "./fakebroker.mjs";

const { Kafka, logLevel } = createRequire(process.argv[2])("kafkajs");
const kafka = await Fakebroker.start("--clock", "manual", "--topic", "orders:1:3");
try {
  const client = new Kafka({ brokers: kafka.brokers, logLevel: logLevel.NOTHING, retry: { retries: 0 } });
  const producer = client.producer();
  await producer.connect();
  const send = () => producer.send({ topic: "orders", acks: -1, timeout: 30_000, messages: [{ value: "v" }] });
  await send();
  await kafka.freeze("orders");

  const sent = send().then(() => null, (error) => error);
  await kafka.waitForParked({ api: "Produce", topic: "orders" });
  await kafka.advance(30_000);

  const error = await sent;
  assert.equal((error.cause ?? error).type, "REQUEST_TIMED_OUT");
  await kafka.expect({ topic: "orders", error: "NONE", count: 1 });
  await kafka.expect({ topic: "orders", error: "REQUEST_TIMED_OUT", count: 1 });
  await producer.disconnect();
  console.log("done");
} finally {
  await kafka.stop();
}
