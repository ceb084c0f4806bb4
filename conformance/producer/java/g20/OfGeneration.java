package org.apache.kafka.clients.producer.internals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.Metadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.CompressionRatioEstimator;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.InitProducerIdResponse;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.utils.ByteBufferOutputStream;
import org.apache.kafka.common.utils.LogContext;

/** Kafka 2.0: before KIP-91, before KIP-794. */
final class OfGeneration extends Subject {
    private final TransactionManager manager;
    private final Wire wire;
    private final RecordAccumulator accumulator;
    private final Metadata metadata = new Metadata(1, Long.MAX_VALUE, true);
    private final DefaultPartitioner partitioner = new DefaultPartitioner();

    OfGeneration(JsonNode config) {
        super(config);
        manager = manager(config, logs);
        accumulator = new RecordAccumulator(
                logs,
                config.get("batch_size").asInt(),
                config.get("buffer_memory").asLong(),
                CompressionType.forId(config.path("codec").asInt(0)),
                config.get("linger_ms").asLong(),
                config.get("retry_backoff_ms").asLong(),
                metrics,
                time,
                new ApiVersions(),
                manager);
        wire = new Wire(this) {
            @Override
            public Node leastLoadedNode(long now) {
                return anyNode();
            }
        };
    }

    private static TransactionManager manager(JsonNode config, LogContext logs) {
        return switch (config.path("mode").asText()) {
            case "idempotent" -> new TransactionManager(logs, null, 0, config.get("retry_backoff_ms").asLong());
            case "transactional" -> new TransactionManager(logs, "tx", 60_000, config.get("retry_backoff_ms").asLong());
            default -> null;
        };
    }

    @Override
    TransactionManager manager() {
        return manager;
    }

    @Override
    Wire wire() {
        return wire;
    }

    @Override
    TransactionalRequestResult initialize() {
        return manager.initializeTransactions();
    }

    @Override
    TransactionalRequestResult commitOffsets(Map<TopicPartition, OffsetAndMetadata> offsets, String group) {
        return manager.sendOffsetsToTransaction(offsets, group);
    }

    @Override
    void acknowledge(TransactionalRequestResult result, boolean isOfInit) {
        if (!result.isSuccessful()) {
            throw result.error();
        }
    }

    @Override
    byte[] compressed(int codec, byte[] data) {
        ByteBufferOutputStream bytes = new ByteBufferOutputStream(64);
        try (OutputStream stream = CompressionType.forId(codec).wrapForOutput(bytes, (byte) 2)) {
            stream.write(data);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        return Arrays.copyOf(bytes.buffer().array(), bytes.position());
    }

    @Override
    void forgetCompression(String topic) {
        CompressionRatioEstimator.resetEstimation(topic);
    }

    @Override
    void versions(JsonNode command) {}

    @Override
    AbstractResponse producerId(int code, long producerId, short epoch) {
        Errors error = Errors.forCode((short) code);
        return error == Errors.NONE ? new InitProducerIdResponse(0, error, producerId, epoch) : new InitProducerIdResponse(0, error);
    }

    @Override
    AbstractResponse transactionalResponse(ClientRequest request, JsonNode command) {
        return Answers.to((AbstractRequest) request.requestBuilder().build(), command, this);
    }

    @Override
    RecordAccumulator accumulator() {
        return accumulator;
    }

    @Override
    BufferPool pool() {
        return (BufferPool) get(accumulator, "free");
    }

    @Override
    void append(JsonNode command, byte[] key, byte[] value, Header[] headers) {
        int id = command.get("record").asInt();
        JsonNode to = command.get("partition");
        TopicPartition partition = new TopicPartition(to.get(0).asText(), to.get(1).asInt());
        if (manager != null && manager.isTransactional()) { // KafkaProducer.doSend
            manager.maybeAddPartitionToTransaction(partition);
        }
        try {
            RecordAccumulator.RecordAppendResult result = accumulator.append(
                    partition, START_MS + command.get("timestamp").asLong(), key, value, headers, told(id), command.get("block_ms").asLong());
            appended(id, partition.partition(), result.batchIsFull, result.newBatchCreated);
        } catch (InterruptedException e) { // KafkaProducer.doSend throws an InterruptException, which is one of these
            refused(id, new KafkaException("interrupted"));
        }
    }

    @Override
    Ready ready() {
        RecordAccumulator.ReadyCheckResult result = accumulator.ready(cluster(), time.milliseconds());
        return new Ready(result.readyNodes, result.nextReadyCheckDelayMs, result.unknownLeaderTopics);
    }

    @Override
    List<ProducerBatch> drain(int node, int maxSize) {
        return accumulator.drain(cluster(), Collections.singleton(node(node)), maxSize, time.milliseconds()).get(node);
    }

    @Override
    void expire(ArrayNode told) {
        for (ProducerBatch batch : accumulator.expiredBatches(config.get("request_timeout_ms").asInt(), time.milliseconds())) {
            told.add(describe(batch));
            if (batch.done(-1, NO_TIME, batch.timeoutException())) {
                accumulator.deallocate(batch);
            }
        }
    }

    @Override
    void succeed(ProducerBatch batch, long baseOffset) {
        if (batch.done(baseOffset, NO_TIME, null)) {
            accumulator.deallocate(batch);
        }
    }

    @Override
    void fail(ProducerBatch batch, RuntimeException error) {
        if (batch.done(-1, NO_TIME, error)) {
            accumulator.deallocate(batch);
        }
    }

    @Override
    void split(ProducerBatch batch) {
        accumulator.splitAndReenqueue(batch);
        accumulator.deallocate(batch);
    }

    @Override
    @SuppressWarnings("unchecked")
    int choose(String topic, byte[] key) {
        Map<String, AtomicInteger> counters = (Map<String, AtomicInteger>) get(partitioner, "topicCounterMap");
        if (key == null) {
            counters.computeIfAbsent(topic, name -> new AtomicInteger(nextRandom()));
        }
        return partitioner.partition(topic, key, key, null, null, cluster());
    }

    @Override
    Sender sender(Wire wire, short acks, int retries, boolean guaranteeOrder) {
        return new Sender(
                logs, wire, metadata, accumulator, guaranteeOrder, config.path("max_request_size").asInt(1_000_000), acks, retries,
                new SenderMetricsRegistry(metrics), time, config.get("request_timeout_ms").asInt(),
                config.get("retry_backoff_ms").asLong(), manager, new ApiVersions());
    }

    @Override
    void run(Sender sender) {
        metadata.update(cluster(), Collections.emptySet(), time.milliseconds());
        sender.run(time.milliseconds());
    }

    @Override
    boolean takeUpdateRequested() {
        boolean requested = metadata.updateRequested();
        metadata.update(cluster(), Collections.emptySet(), time.milliseconds());
        return requested;
    }

    @Override
    List<TopicPartition> partitions(ClientRequest request) {
        return new ArrayList<>(((ProduceRequest) request.requestBuilder().build()).partitionRecordsOrFail().keySet());
    }

    @Override
    void describe(ClientRequest request, ObjectNode told) {
        if (!(request.requestBuilder() instanceof ProduceRequest.Builder)) {
            Answers.describe((AbstractRequest) request.requestBuilder().build(), told.putArray("asks"));
            return;
        }
        ProduceRequest produce = (ProduceRequest) request.requestBuilder().build();
        told.put("acks", produce.acks()).put("timeout", produce.timeout());
        ObjectNode sizes = told.putObject("sizes");
        new TreeMap<>(produce.partitionRecordsOrFail().entrySet().stream()
                        .collect(Collectors.toMap(entry -> entry.getKey().toString(), entry -> entry.getValue().sizeInBytes())))
                .forEach(sizes::put);
        if (manager != null) {
            told.put("transactional_id", produce.transactionalId() == null ? "" : produce.transactionalId()).put("v2", false);
            ObjectNode states = told.putObject("states");
            produce.partitionRecordsOrFail().forEach((partition, records) -> state(records.buffer(), states.putArray(partition.toString())));
        }
    }

    @Override
    AbstractResponse response(List<TopicPartition> partitions, JsonNode command) {
        JsonNode errors = command.get("errors");
        Map<TopicPartition, ProduceResponse.PartitionResponse> responses = new LinkedHashMap<>();
        for (int at = 0; at < partitions.size(); at++) {
            Errors error = Errors.forCode((short) errors.get(at % errors.size()).asInt());
            responses.put(
                    partitions.get(at), new ProduceResponse.PartitionResponse(error, error == Errors.NONE ? command.path("base").asInt(1000) : -1, NO_TIME, command.path("log_start").asInt(-1)));
        }
        return new ProduceResponse(responses, command.get("throttle_ms").asInt());
    }

    @Override
    void close(KafkaProducer<byte[], byte[]> producer) {
        TransactionManager own = (TransactionManager) get(get(producer, "sender"), "transactionManager");
        if (own != null) {
            own.transitionToFatalError(new KafkaException("gone")); // or it waits for a producer id for ever
        }
        producer.close(0, TimeUnit.MILLISECONDS);
    }

    @Override
    void unmute(TopicPartition partition, long untilMs) {
        accumulator.unmutePartition(partition, untilMs);
    }
}
