// What each helper can do, against a cluster with a manual clock that runs already. The test produces when it is told to.
import assert from "node:assert/strict";
import { Fakebroker, FakebrokerError } from "./fakebroker.mjs";

const kafka = await Fakebroker.connect(process.argv[2]);
await kafka.createTopic("t", { replicationFactor: 3 });
await kafka.freeze("t");
console.log("frozen");
await kafka.waitForParked({ api: "Produce", topic: "t" });
assert.equal(await kafka.advanceToNextDeadline(), 30_000);
const [entry] = await kafka.expect({ topic: "t", error: "REQUEST_TIMED_OUT", count: 1 });
assert.equal(entry.waited_ms, 30_000);
await assert.rejects(kafka.expect({ topic: "t", error: "NONE" }), /expected at least 1 answered NONE, found 0 of 1/);
await assert.rejects(kafka.createTopic("t"), (error) => error instanceof FakebrokerError && error.code === "TOPIC_ALREADY_EXISTS");
await kafka.advance(5);
assert.equal((await kafka.clock()).elapsed_ms, 30_005);
await kafka.moveLeader("t", 0, 2);
await kafka.broker(3, "stop");
await kafka.broker(3, "start");

const lost = await kafka.fault({ when: { api: "Produce", at: "after_append" }, do: "disconnect" });
const barrier = await kafka.hold({ api: "Produce" });
console.log("held");
await barrier.wait({ held: 1 });
await barrier.release();
await lost.wait();
await lost.remove();
await barrier.remove();

const other = await kafka.newCluster({ brokers: 1, topics: [{ name: "mine" }] });
assert.notEqual(other.bootstrapServers, kafka.bootstrapServers);
assert.equal((await other.topic("mine")).partitions.length, 1);
await other.stop();
await assert.rejects(other.cluster(), (error) => error.status === 404);

await kafka.reset();
assert.equal((await kafka.cluster()).topics, 0);

const own = await Fakebroker.start("--topic", "mine");
assert.equal((await own.topic("mine")).name, "mine");
await own.stop();
await assert.rejects(Fakebroker.start("--brokers", "0"), /ended with status 2: fakebroker: --brokers/);
console.log("done");
