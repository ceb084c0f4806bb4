package org.apache.kafka.clients.producer.internals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.zip.CRC32;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownServerException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.MockTime;

/** What is asked of a real accumulator; what differs between the generations is in their own folders. */
abstract class Subject {
    static final ObjectMapper JSON = new ObjectMapper();
    static final long NO_TIME = -1L;
    static final long START_MS = 1_000_000L;

    final JsonNode config;
    final MockTime time = new MockTime(0, START_MS, START_MS * 1_000_000L);
    final Metrics metrics = new Metrics(time);
    final LogContext logs = new LogContext();
    final ArrayNode partitions;
    final List<ProducerBatch> inFlight = new ArrayList<>();
    ArrayNode events = JSON.createArrayNode();
    private int random;

    Subject(JsonNode config) {
        this.config = config;
        this.partitions = (ArrayNode) config.get("partitions");
    }

    /** What `ready` gives. */
    record Ready(Iterable<Node> nodes, long delayMs, Iterable<String> unknown) {}

    abstract BufferPool pool();

    abstract void append(JsonNode command, byte[] key, byte[] value, Header[] headers);

    abstract Ready ready();

    abstract List<ProducerBatch> drain(int node, int maxSize);

    abstract void expire(ArrayNode told);

    abstract void succeed(ProducerBatch batch, long baseOffset);

    abstract void fail(ProducerBatch batch, RuntimeException error);

    abstract void split(ProducerBatch batch);

    abstract void unmute(TopicPartition partition, long untilMs);

    abstract RecordAccumulator accumulator();

    /** The partition of a record with this key, or -1 if the accumulator is to choose it. */
    abstract int choose(String topic, byte[] key);

    /** The sender of the accumulator, on this wire. */
    abstract Sender sender(Wire wire, short acks, int retries, boolean guaranteeOrder);

    /** One turn of it. */
    abstract void run(Sender sender);

    abstract void describe(ClientRequest request, ObjectNode told);

    abstract List<TopicPartition> partitions(ClientRequest request);

    abstract AbstractResponse response(List<TopicPartition> partitions, JsonNode command);

    /** Whether news of the cluster were asked for since the last time. */
    abstract boolean takeUpdateRequested();

    abstract void close(KafkaProducer<byte[], byte[]> producer);

    /** Null of a producer that is not idempotent. */
    abstract TransactionManager manager();

    abstract Wire wire();

    abstract TransactionalRequestResult initialize();

    abstract TransactionalRequestResult commitOffsets(Map<TopicPartition, OffsetAndMetadata> offsets, String group);

    /** The caller hears of it. */
    abstract void acknowledge(TransactionalRequestResult result, boolean isOfInit);

    /** By the codec's number. */
    abstract byte[] compressed(int codec, byte[] data);

    /** All producers of a JVM share what they expect of a topic. */
    abstract void forgetCompression(String topic);

    /** What a node says of itself and of the cluster. */
    abstract void versions(JsonNode command);

    abstract AbstractResponse producerId(int code, long producerId, short epoch);

    /** The answer to what a transaction manager asked. */
    abstract AbstractResponse transactionalResponse(ClientRequest request, JsonNode command);

    /** It is in flight no more and about to be queued again. */
    void fresh(ProducerBatch batch) {}

    void latency(int node, boolean canDrain) {}

    int nextRandom() {
        JsonNode randoms = config.get("randoms");
        return randoms.get(random++ % randoms.size()).asInt();
    }

    static Object get(Object of, String name) {
        try {
            return field(of, name).get(of);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    static void set(Object of, String name, Object value) {
        try {
            field(of, name).set(of, value);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Field field(Object of, String name) {
        for (Class<?> type = of.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Field field = type.getDeclaredField(name);
                field.setAccessible(true);
                return field;
            } catch (NoSuchFieldException e) {
                // it may be its parent's
            }
        }
        throw new IllegalStateException("no " + name);
    }

    static Node node(int id) {
        return new Node(id, "host", 9092 + id);
    }

    Cluster cluster() {
        TreeSet<Integer> ids = new TreeSet<>();
        List<PartitionInfo> infos = new ArrayList<>();
        for (JsonNode one : partitions) {
            int leader = one.get(2).asInt();
            Node node = leader < 0 ? null : node(leader);
            Node[] none = new Node[0];
            infos.add(new PartitionInfo(one.get(0).asText(), one.get(1).asInt(), node, none, none));
            if (leader >= 0) {
                ids.add(leader);
            }
        }
        List<Node> nodes = new ArrayList<>();
        for (int id : ids) {
            nodes.add(node(id));
        }
        return new Cluster("c", nodes, infos, new TreeSet<>(), new TreeSet<>());
    }

    Callback told(int id) {
        return (metadata, error) -> {
            if (error == null) {
                events.addObject().put("record", id).put("offset", metadata.offset());
            } else {
                events.addObject().put("record", id).put("failed", name(error)).put("text", text(error));
            }
        };
    }

    /** A code of the protocol if it has one, else its class. */
    static String name(Exception error) {
        Errors code = Errors.forException(error);
        boolean hasCode = code != Errors.UNKNOWN_SERVER_ERROR || error instanceof UnknownServerException;
        return hasCode && !isExpiry(error) ? "code " + code.code() : error.getClass().getSimpleName();
    }

    static String text(Exception error) {
        boolean saysNothing = error.getMessage() == null || error.getMessage().equals(Errors.forException(error).message());
        return saysNothing ? "" : error.getMessage();
    }

    private static boolean isExpiry(Exception error) {
        return error.getMessage() != null && error.getMessage().startsWith("Expiring");
    }

    /** Producer id, epoch, sequence, whether it is transactional, and all bytes of a batch. */
    static void state(ByteBuffer batch, ArrayNode told) {
        ByteBuffer bytes = batch.duplicate();
        CRC32 checksum = new CRC32();
        int at = bytes.position();
        told.add(bytes.getLong(at + 43)).add(bytes.getShort(at + 51)).add(bytes.getInt(at + 53)).add((bytes.getShort(at + 21) & 16) != 0);
        checksum.update(bytes);
        told.add(checksum.getValue());
    }

    void appended(int id, int partition, boolean full, boolean created) {
        events.addObject().put("append", id).put("partition", partition).put("full", full).put("created", created);
    }

    void refused(int id, Exception error) {
        events.addObject().put("append", id).put("refused", error.getClass().getSimpleName()).put("text", error.getMessage());
    }

    static Header[] headers(JsonNode sizes) {
        Header[] headers = new Header[sizes.size()];
        for (int at = 0; at < headers.length; at++) {
            headers[at] = new RecordHeader("h" + at, bytes(sizes.get(at), at));
        }
        return headers;
    }

    /** So many bytes, the n-th of which is (seed + n) mod 251; null for null. */
    static byte[] bytes(JsonNode size, int seed) {
        if (size == null || size.isNull()) {
            return null;
        }
        byte[] data = new byte[size.asInt()];
        for (int at = 0; at < data.length; at++) {
            data[at] = (byte) ((seed + at) % 251);
        }
        return data;
    }

    ObjectNode describe(ProducerBatch batch) {
        return JSON.createObjectNode()
                .put("partition", batch.topicPartition.toString())
                .put("created", batch.createdMs - START_MS)
                .put("records", batch.recordCount)
                .put("attempts", batch.attempts())
                .put("sequence", batch.baseSequence());
    }
}
