// Starts a broker and forgets stop(); "end": the program is over then, "wait": it is killed.
import { Fakebroker } from "./fakebroker.mjs";

const kafka = await Fakebroker.start("--topic", "t");
await kafka.topic("t");
console.log("started");
if (process.argv[2] === "wait") setInterval(() => {}, 1000);
