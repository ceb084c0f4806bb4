"""Kafka's own timer: its jars from Maven, and a program in Java that does the same work with it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from benchmarks.machine.programs import Missing

KAFKA_VERSION = "4.0.0"

POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>benchmarks</groupId><artifactId>wheel</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>org.apache.kafka</groupId><artifactId>kafka-server-common</artifactId><version>{KAFKA_VERSION}</version>
  </dependency></dependencies>
</project>
"""

# The workloads of worker.py on Kafka's SystemTimer. Arguments: WORKLOAD PENDING OPS. CPU time is that of this
# thread and of the timer's executor; a pause is the CPU time of a turn and the garbage collections within it.
DRIVER = """
import java.lang.management.*;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.server.util.timer.*;

public class Driver {
    static final AtomicInteger expired = new AtomicInteger();
    static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    static long longest, before, beforeGc;

    static class Request extends TimerTask {
        Request(long delayMs) { super(delayMs); }
        @Override public void run() { expired.incrementAndGet(); }
    }

    static long gcMs() {
        long sum = 0;
        for (GarbageCollectorMXBean gc : ManagementFactory.getGarbageCollectorMXBeans()) sum += gc.getCollectionTime();
        return sum;
    }

    static long cpu() {
        long sum = 0;
        for (long id : threads.getAllThreadIds()) {
            ThreadInfo info = threads.getThreadInfo(id);
            if (id == Thread.currentThread().getId() || (info != null && info.getThreadName().startsWith("executor")))
                sum += Math.max(0, threads.getThreadCpuTime(id));
        }
        return sum;
    }

    static void turn() {
        long now = threads.getCurrentThreadCpuTime(), gc = gcMs();
        longest = Math.max(longest, now - before + (gc - beforeGc) * 1_000_000);
        before = now;
        beforeGc = gc;
    }

    static void start() { longest = 0; before = threads.getCurrentThreadCpuTime(); beforeGc = gcMs(); }

    static double cancel(int pending, int ops, boolean anyOrder) throws Exception {
        SystemTimer timer = new SystemTimer("bench");
        Random chance = new Random(1);
        long[] delays = new long[4096];
        for (int n = 0; n < 4096; n++)
            delays[n] = n % 100 == 99 ? 1 + chance.nextInt(20) : 10_000 + chance.nextInt(50_001);
        Request[] requests = new Request[pending];
        for (int n = 0; n < pending; n++) timer.add(requests[n] = new Request(delays[n & 4095] + 10_000));
        int[] order = new int[ops];
        for (int n = 0; n < ops; n++) order[n] = anyOrder ? chance.nextInt(pending) : n % pending;
        start();
        long began = cpu();
        for (int at = 0; at < ops; at += 100) {
            for (int n = at; n < Math.min(ops, at + 100); n++) {
                requests[order[n]].cancel();
                timer.add(requests[order[n]] = new Request(delays[n & 4095]));
            }
            while (timer.advanceClock(0)) { }
            turn();
        }
        double result = (double) (cpu() - began) / ops;
        timer.close();
        return result;
    }

    static double expire(int pending, int ops) throws Exception {
        SystemTimer timer = new SystemTimer("bench");
        Random chance = new Random(3);
        int spread = Math.max(4, (int) (pending * 4e-3)), rounds = Math.max(1, ops / pending);
        Request[] requests = new Request[pending];
        long spent = 0;
        start();
        for (int round = 0; round < rounds; round++) {
            for (int n = 0; n < pending; n++) requests[n] = new Request(chance.nextInt(spread));
            expired.set(0);
            before = threads.getCurrentThreadCpuTime();
            long began = cpu();
            for (int at = 0; at < pending; at += 100) {
                for (int n = at; n < Math.min(pending, at + 100); n++) timer.add(requests[n]);
                while (timer.advanceClock(0)) { }
                turn();
            }
            while (timer.size() > 0) { timer.advanceClock(1); turn(); }
            while (expired.get() < pending) Thread.sleep(1);
            spent += cpu() - began;
        }
        timer.close();
        return (double) spent / rounds / pending;
    }

    static double memory(int pending) throws Exception {
        SystemTimer timer = new SystemTimer("bench");
        Request[] requests = new Request[pending];
        Runtime runtime = Runtime.getRuntime();
        timer.add(new Request(60_000));
        System.gc();
        long before = runtime.totalMemory() - runtime.freeMemory();
        for (int n = 0; n < pending; n++) timer.add(requests[n] = new Request(60_000 + n % 1000));
        System.gc();
        double result = (double) (runtime.totalMemory() - runtime.freeMemory() - before) / pending;
        if (timer.size() != pending + 1) throw new IllegalStateException();
        timer.close();
        return result;
    }

    public static void main(String[] args) throws Exception {
        String workload = args[0];
        int pending = Integer.parseInt(args[1]), ops = Integer.parseInt(args[2]);
        if (workload.equals("memory")) {
            System.out.println("{\\"bytes_per_timer\\": " + memory(Math.max(pending, 100_000)) + "}");
            return;
        }
        double ns;
        if (workload.equals("expire")) {
            expire(20_000, 100_000);
            ns = expire(pending, ops);
        } else {
            for (int n = 0; n < 3; n++) cancel(1000, 200_000, false);
            ns = cancel(pending, ops, workload.equals("cancel-random"));
        }
        System.out.println("{\\"ns_per_op\\": " + ns + ", \\"max_pause_ms\\": " + longest / 1e6 + "}");
    }
}
"""


def run(command: list[str], folder: Path, timeout_s: float) -> str | None:
    """None if it worked, else the last thing it said."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return f"{Path(command[0]).name} took more than {timeout_s:.0f} s"
    if done.returncode == 0:
        return None
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return f"{Path(command[0]).name}: {said[-1] if said else f'exit status {done.returncode}'}"


def build_kafka(folder: Path, timeout_s: float) -> Path:
    """The folder with Kafka's jars and the program. Raises Missing where they cannot be had."""
    lacking = [program for program in ("java", "javac", "mvn") if shutil.which(program) is None]
    if lacking:
        raise Missing(f"no {lacking[0]} on this machine")
    folder.mkdir()
    (folder / "pom.xml").write_text(POM)
    (folder / "Driver.java").write_text(DRIVER)
    copy = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=lib"]
    if reason := run(copy, folder, timeout_s):
        raise Missing(reason)
    if reason := run(["javac", "-cp", "lib/*", "Driver.java"], folder, timeout_s):
        raise RuntimeError(reason)
    return folder
