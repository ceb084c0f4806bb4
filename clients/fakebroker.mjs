// fakebroker from JavaScript: its HTTP control, in one file without dependencies (Node 18 or later).
//
//   import { Fakebroker } from "./fakebroker.mjs";
//   const kafka = await Fakebroker.start("--clock", "manual", "--topic", "orders");  // or Fakebroker.connect(url)
//   ... a client of kafka.bootstrapServers ...
//   await kafka.freeze("orders");
//   await kafka.waitForParked({ api: "Produce" });
//   await kafka.advance(30_000);
//   await kafka.expect({ topic: "orders", error: "REQUEST_TIMED_OUT" });
//   await kafka.stop();
//
// Bodies and responses are those of docs/http.md. A refused request throws FakebrokerError with `code` and `status`.

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const START_LIMIT_MS = 20_000;
const WAIT_MS = 10_000; // of the machine's clock, the limit of each wait

export class FakebrokerError extends Error {
  constructor(status, { code, message, member }) {
    super(message);
    this.name = "FakebrokerError";
    this.status = status;
    this.code = code;
    this.member = member;
  }
}

export class Fakebroker {
  constructor(url, { token, prefix = "/v1", process: child } = {}) {
    this.url = url.replace(/\/$/, "");
    this._token = token;
    this._prefix = prefix;
    this._process = child;
  }

  // Starts `fakebroker serve` on free ports, with these options added. FAKEBROKER in the environment names another
  // command, as in FAKEBROKER="python -m fakebroker". It ends with stop() and with this process, also if that is killed.
  static async start(...options) {
    const [command, ...words] = (process.env.FAKEBROKER ?? "fakebroker").split(" ");
    const folder = await mkdtemp(join(tmpdir(), "fakebroker-"));
    const file = join(folder, "ready.json");
    const defaults = ["serve", "--exit-with-parent", "--port", "0", "--control-port", "0", "--ready-file", file];
    const child = spawn(command, [...words, ...defaults, ...options], { stdio: ["pipe", "ignore", "pipe"] });
    let told = "", failure = null;
    child.stderr.on("data", (text) => (told += text));
    child.on("error", (error) => (failure = error));
    child.stdin.on("error", () => {});  // it has ended already
    for (const each of [child, child.stdin, child.stderr]) each.unref();  // a program that forgets stop() may end
    try {
      const end = Date.now() + START_LIMIT_MS;
      for (;;) {
        if (failure) throw new Error(`${command} cannot be started: ${failure.message}`);
        if (child.exitCode !== null) throw new Error(`${command} ended with status ${child.exitCode}: ${told.trim()}`);
        if (Date.now() > end) throw new Error(`${command} was not ready within ${START_LIMIT_MS} ms: ${told.trim()}`);
        const text = await readFile(file, "utf8").catch(() => null);
        if (text) {
          const kafka = await Fakebroker.connect(JSON.parse(text).control_url);
          kafka._process = child;
          return kafka;
        }
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    } catch (error) {
      child.kill();
      throw error;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  // Connects to a running cluster by its control_url.
  static async connect(url, { token } = {}) {
    const kafka = new Fakebroker(url, { token });
    await kafka.cluster();
    return kafka;
  }

  // Sends a request to the control. `path` is below /v1, as in ask("PUT", "/quotas", {...}).
  async ask(method, path, body) {
    const headers = { "Content-Type": "application/json" };
    if (this._token) headers.Authorization = `Bearer ${this._token}`;
    const answer = await fetch(this.url + this._prefix + path, {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    const content = text ? JSON.parse(text) : null;
    if (!answer.ok) throw new FakebrokerError(answer.status, content.error);
    return content;
  }

  async cluster() {
    const cluster = await this.ask("GET", "/cluster");
    this.bootstrapServers = cluster.bootstrap_servers;
    this.brokers = cluster.bootstrap_servers.split(",");
    return cluster;
  }

  // Resets the cluster to its state at the start, on the same ports.
  reset() { return this.ask("POST", "/reset"); }

  createTopic(name, { partitions, replicationFactor, configs } = {}) {
    return this.ask("POST", "/topics", { name, partitions, replication_factor: replicationFactor, configs });
  }
  topic(name) { return this.ask("GET", `/topics/${encodeURIComponent(name)}`); }
  deleteTopic(name) { return this.ask("DELETE", `/topics/${encodeURIComponent(name)}`); }

  // Sets what followers do: all, or those of a topic, partition, broker.
  followers(behaviour, where = {}) { return this.ask("PUT", "/followers", { behaviour, ...where }); }
  freeze(topic, partition) { return this.followers("frozen", { topic, partition }); }
  resume(topic, partition) { return this.followers("resume", { topic, partition }); }
  lag(lag_ms, topic, partition) { return this.followers("lagging", { lag_ms, topic, partition }); }

  // Stops, starts or otherwise changes a broker. docs/http.md lists the actions.
  broker(id, action) { return this.ask("POST", `/brokers/${id}/${action}`); }
  moveLeader(topic, partition, broker) {
    return this.ask("PUT", `/partitions/${encodeURIComponent(topic)}/${partition}/leader`, { broker });
  }

  clock() { return this.ask("GET", "/clock"); }
  // Advances the clock of the cluster by so many milliseconds. Afterwards all due responses are written.
  advance(ms) { return this.ask("POST", "/clock/advance", { ms }); }
  // Advances to the next deadline and returns by how many milliseconds; null if there is none.
  async advanceToNextDeadline() {
    return (await this.ask("POST", "/clock/advance", { to: "next_deadline" })).advanced_ms;
  }

  // Waits until so many requests are parked. Throws if they are not in time.
  async waitForParked(which = {}) {
    const found = await this.ask("POST", "/purgatory/wait", { timeout_wall_ms: WAIT_MS, ...which });
    if (!found.matches) throw new Error(`${found.count} requests wait, and not ${which.count ?? 1}`);
    return found.waiting;
  }
  async waitForGroup(groupId, { state = "Stable", members } = {}) {
    const body = { group_id: groupId, state, members, timeout_wall_ms: WAIT_MS };
    const found = await this.ask("POST", "/groups/wait", body);
    if (!found.matches) throw new Error(`group ${groupId}: ${found.reason}`);
    return found.group;
  }

  // Installs a fault: when, do, times, or a preset (docs/faults.md). It has `id`, wait(), release(), remove(), now().
  async fault(fault) {
    const { id } = await this.ask("POST", "/faults", fault);
    return {
      id,
      now: () => this.ask("GET", `/faults/${id}`),
      wait: async (what = { hits: 1 }) => {
        const found = await this.ask("POST", `/faults/${id}/wait`, { timeout_wall_ms: WAIT_MS, ...what });
        if (!found.matched) throw new Error(`fault ${id} has ${found.hits} hits and holds ${found.held}`);
        return found;
      },
      release: async (count) => (await this.ask("POST", `/faults/${id}/release`, { count })).released,
      remove: () => this.ask("DELETE", `/faults/${id}`),
    };
  }
  // A barrier: requests that match wait until they are released. wait({ held: 3 }) waits until so many do.
  hold(when) { return this.fault({ when, do: "hold", times: "every_time" }); }

  journal(query = {}) { return this.ask("GET", `/journal?${new URLSearchParams(query)}`); }
  // Checks the responses to Produce requests; throws with what was found instead. `timeout_ms` waits for it.
  async expect(what) {
    const found = await this.ask("POST", "/journal/expect", what);
    if (!found.matches) throw new Error(found.reason);
    return found.entries;
  }

  // Creates another cluster in the same process. It ends with its lease.
  async newCluster(options = {}) {
    const made = await this.ask("POST", "/clusters", options);
    const kafka = new Fakebroker(this.url, { token: this._token, prefix: `/v1/clusters/${made.id}` });
    kafka._owner = [this, made.id];
    await kafka.cluster();
    return kafka;
  }

  // Ends a started process or deletes a created cluster. A connected cluster goes on.
  async stop() {
    if (this._owner) {
      const [main, id] = this._owner;
      await main.ask("DELETE", `/clusters/${id}`);
    } else if (this._process && this._process.exitCode === null) {
      const ended = new Promise((resolve) => this._process.once("exit", resolve));
      this._process.ref();
      this._process.kill();
      await ended;
    }
  }
}
