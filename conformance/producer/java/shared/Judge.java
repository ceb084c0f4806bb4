package org.apache.kafka.clients.producer.internals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.TreeSet;
import java.util.zip.CRC32;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.Flights;
import org.apache.kafka.clients.Network;
import org.apache.kafka.clients.NetworkOfGeneration;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidMetadataException;
import org.apache.kafka.common.errors.InvalidTimestampException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ProduceRequest;

/**
 * Plays sequences of commands on Kafka's own accumulator and buffer pool, in virtual time.
 *
 * <p>A line of JSON is a sequence: {"config", "commands"}. The line that answers it has for each command what came of it,
 * what was told to callbacks and appenders meanwhile, and what memory was left then.
 */
public final class Judge {
    private final Subject subject;
    private final Turns turns;
    private final Wire wire;
    private final Sender sender;
    private final Flights flights;
    private final boolean isCompressed;
    private final Transactions transactions;

    private Judge(JsonNode config) {
        subject = new OfGeneration(config);
        isCompressed = config.path("codec").asInt(0) != 0; // a buffer that grew does not go back into the pool
        config.get("partitions").forEach(one -> subject.forgetCompression(one.get(0).asText()));
        turns = new Turns(subject.time);
        Subject.set(subject.pool(), "lock", turns.lock);
        wire = subject.wire();
        Subject.set(Subject.get(subject.accumulator(), "incomplete"), "incomplete", new LinkedHashSet<>()); // an order
        transactions = new Transactions(subject);
        flights = new Flights(config.path("most").asInt(5));
        sender = subject.sender(
                wire,
                (short) config.path("acks").asInt(-1),
                config.path("retries").asInt(0),
                config.path("guarantee_order").asBoolean(false));
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode sequence = Subject.JSON.readTree(line);
            ArrayNode answers = Subject.JSON.createArrayNode();
            if (sequence.get("config").has("network")) {
                Network network = new NetworkOfGeneration(sequence.get("config"));
                sequence.get("commands").forEach(command -> answers.add(network.play(command)));
                out.println(Subject.JSON.writeValueAsString(answers));
                out.flush();
                continue;
            }
            Judge judge = new Judge(sequence.get("config"));
            for (JsonNode command : sequence.get("commands")) {
                answers.add(judge.play(command));
            }
            judge.subject.metrics.close();
            out.println(Subject.JSON.writeValueAsString(answers));
            out.flush();
        }
    }

    private ObjectNode play(JsonNode command) {
        ObjectNode answer = Subject.JSON.createObjectNode();
        subject.events = answer.putArray("events");
        RecordAccumulator accumulator = subject.accumulator();
        ArrayNode told = answer.putArray("told");
        switch (command.get("do").asText()) {
            case "append" -> append(command);
            case "interrupt" -> told.add(turns.interrupt(command.get("which").asInt()));
            case "tick" -> turns.advance(command.get("ms").asLong());
            case "ready" -> ready(told);
            case "drain" -> drain(command, told);
            case "expire" -> subject.expire(told);
            case "answer" -> answer(command, told);
            case "mute" -> accumulator.mutePartition(partition(command));
            case "unmute" -> subject.unmute(partition(command), subject.time.milliseconds() + command.get("until").asLong());
            case "flush" -> accumulator.beginFlush();
            case "flushed" -> {
                boolean over = accumulator.flushInProgress() && !accumulator.hasIncomplete();
                told.add(over);
                if (over) {
                    awaitFlush(accumulator);
                }
            }
            case "lead" -> lead(command);
            case "latency" -> subject.latency(command.get("node").asInt(), command.get("can_drain").asBoolean());
            case "abort" -> abort(accumulator);
            case "abort_undrained" -> {
                accumulator.abortUndrainedBatches(new KafkaException("gone"));
                sortEvents();
            }
            case "close" -> accumulator.close();
            case "choose" -> {
                String topic = command.get("topic").asText();
                told.add(subject.choose(topic, Subject.bytes(command.get("key"), command.get("seed").asInt())));
            }
            case "run" -> {
                subject.takeUpdateRequested();
                wire.begin(command);
                run();
                told.add(wire.pollTimeoutMs).add(subject.takeUpdateRequested());
            }
            case "respond", "drop" -> respond(command, told);
            case "unready" -> unready(command);
            case "txn" -> transactions.play(command, told);
            case "versions" -> subject.versions(command);
            case "errors" -> {
                for (Errors error : Errors.values()) {
                    if (error != Errors.NONE) {
                        ArrayNode one = told.addArray().add(error.code());
                        one.add(error.exception() instanceof RetriableException);
                        one.add(error.exception() instanceof InvalidMetadataException);
                    }
                }
            }
            case "compress" -> {
                byte[] data = HexFormat.of().parseHex(command.get("data").asText());
                told.add(HexFormat.of().formatHex(subject.compressed(command.get("codec").asInt(), data)));
            }
            case "transitions" -> Transactions.transitions(told);
            case "flight" -> flights.play(command, subject.time.milliseconds(), told);
            case "configure" -> told.add(Configured.told(subject, command));
            default -> throw new IllegalArgumentException(command.toString());
        }
        turns.settle();
        if (subject.manager() != null) {
            transactions.tell(answer);
        }
        BufferPool pool = subject.pool();
        answer.putArray("memory").add(pool.availableMemory()).add(isCompressed ? 0 : pool.unallocatedMemory()).add(pool.queued());
        answer.putArray("left").add(accumulator.hasUndrained()).add(accumulator.hasIncomplete()).add(accumulator.flushInProgress());
        return answer;
    }

    private void append(JsonNode command) {
        int id = command.get("record").asInt();
        byte[] key = Subject.bytes(command.get("key"), id);
        byte[] value = Subject.bytes(command.get("value"), id + 1);
        turns.begin(() -> {
            try {
                subject.append(command, key, value, Subject.headers(command.get("headers")));
            } catch (RuntimeException error) {
                subject.refused(id, error);
            }
        });
    }

    private void run() {
        try {
            subject.run(sender);
        } catch (RuntimeException error) { // the sender's thread writes it to its log
            if (subject.manager() == null) {
                throw error;
            }
            subject.events.addObject().put("uncaught", error.getClass().getSimpleName());
        }
    }

    private void unready(JsonNode command) {
        int node = command.get("node").asInt();
        wire.readyAtMs.put(node, subject.time.milliseconds() + command.get("ms").asLong());
        if (command.path("failed").asBoolean(false)) {
            wire.failed.add(node);
        } else {
            wire.failed.remove(node);
        }
    }

    private void ready(ArrayNode told) {
        Subject.Ready ready = subject.ready();
        TreeSet<Integer> nodes = new TreeSet<>();
        for (Node node : ready.nodes()) {
            nodes.add(node.id());
        }
        ArrayNode ids = told.addArray();
        nodes.forEach(ids::add);
        told.add(ready.delayMs());
        TreeSet<String> unknown = new TreeSet<>();
        ready.unknown().forEach(unknown::add);
        ArrayNode topics = told.addArray();
        unknown.forEach(topics::add);
    }

    private void drain(JsonNode command, ArrayNode told) {
        for (JsonNode node : command.get("nodes")) {
            if (subject.cluster().nodeById(node.asInt()) == null) {
                continue; // leads nothing: 2.0 divides by how many it leads
            }
            List<ProducerBatch> batches = subject.drain(node.asInt(), command.get("max_size").asInt());
            ArrayNode told1 = told.addArray();
            for (ProducerBatch batch : batches) {
                ByteBuffer bytes = batch.records().buffer().duplicate();
                CRC32 checksum = new CRC32();
                ObjectNode shown = subject.describe(batch).put("bytes", bytes.remaining());
                checksum.update(bytes);
                told1.add(shown.put("checksum", checksum.getValue()));
                subject.inFlight.add(batch);
            }
        }
    }

    private void answer(JsonNode command, ArrayNode told) {
        if (subject.inFlight.isEmpty()) {
            told.add("nothing is in flight");
            return;
        }
        ProducerBatch batch = subject.inFlight.remove(command.get("which").asInt() % subject.inFlight.size());
        boolean isDone = ((java.util.concurrent.atomic.AtomicReference<?>) Subject.get(batch, "finalState")).get() != null;
        switch (command.get("with").asText()) {
            case "retry" -> {
                if (!isDone) {
                    subject.accumulator().reenqueue(retried(batch), subject.time.milliseconds());
                    return;
                }
            }
            case "split" -> {
                if (!isDone && batch.recordCount > 1) {
                    subject.split(batch);
                    return;
                }
            }
            case "ok" -> {
                subject.succeed(batch, 1000);
                return;
            }
            default -> { }
        }
        subject.fail(batch, new InvalidTimestampException("bad"));
    }

    private ProducerBatch retried(ProducerBatch batch) {
        subject.fresh(batch);
        return batch;
    }

    private void respond(JsonNode command, ArrayNode told) {
        if (wire.unanswered.isEmpty()) {
            told.add("nothing is in flight");
            return;
        }
        ClientRequest request = wire.unanswered.remove(command.get("which").asInt() % wire.unanswered.size());
        subject.takeUpdateRequested();
        if (command.get("do").asText().equals("drop")) {
            wire.complete(request, true, null);
        } else if (!(request.requestBuilder() instanceof ProduceRequest.Builder)) {
            wire.complete(request, false, subject.transactionalResponse(request, command));
        } else {
            List<TopicPartition> partitions = new ArrayList<>(subject.partitions(request));
            partitions.sort(Comparator.comparing(TopicPartition::topic).thenComparingInt(TopicPartition::partition));
            wire.complete(request, false, subject.response(partitions, command));
        }
        told.add(subject.takeUpdateRequested());
    }

    private void lead(JsonNode command) {
        JsonNode changed = command.get("partition");
        for (int at = 0; at < subject.partitions.size(); at++) {
            JsonNode one = subject.partitions.get(at);
            if (one.get(0).equals(changed.get(0)) && one.get(1).equals(changed.get(1))) {
                subject.partitions.set(at, changed);
            }
        }
    }

    private void abort(RecordAccumulator accumulator) {
        if (subject.pool().queued() > 0) { // it waits for those who append; they come when it is over
            accumulator.abortBatches(new KafkaException("gone"));
        } else {
            accumulator.abortIncompleteBatches();
        }
        sortEvents();
    }

    /** Incomplete batches are in a set without an order. */
    private void sortEvents() {
        List<JsonNode> sorted = new ArrayList<>();
        subject.events.forEach(sorted::add);
        sorted.sort(Comparator.comparingInt(event -> event.get("record").asInt()));
        subject.events.removeAll();
        sorted.forEach(subject.events::add);
    }

    private static void awaitFlush(RecordAccumulator accumulator) {
        try {
            accumulator.awaitFlushCompletion();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static TopicPartition partition(JsonNode command) {
        return new TopicPartition(command.get("partition").get(0).asText(), command.get("partition").get(1).asInt());
    }
}
