package org.apache.kafka.clients.producer.internals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.LeastLoadedNode;
import org.apache.kafka.clients.MetadataSnapshot;
import org.apache.kafka.clients.NodeApiVersions;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.internals.ClusterResourceListeners;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ProduceResponseData;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.CompressionRatioEstimator;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.requests.MetadataResponse.PartitionMetadata;
import org.apache.kafka.common.utils.ByteBufferOutputStream;
import org.apache.kafka.common.utils.ExponentialBackoff;
import org.apache.kafka.common.utils.LogContext;

/** Kafka 4.3. Its choices by chance are read from the sequence, and its back-off has no jitter. */
final class OfGeneration extends Subject {
    private final RecordAccumulator accumulator;
    private final BufferPool pool;
    private final ApiVersions apiVersions = new ApiVersions();
    private final TransactionManager manager;
    private final Wire wire;
    private boolean updateRequested;

    OfGeneration(JsonNode config) {
        super(config);
        manager = manager(config);
        int batchSize = config.get("batch_size").asInt();
        long backoffMs = config.get("retry_backoff_ms").asLong();
        long maxBackoffMs = config.get("retry_backoff_max_ms").asLong();
        pool = new BufferPool(config.get("buffer_memory").asLong(), batchSize, metrics, time, "producer-metrics");
        accumulator = new RecordAccumulator(
                logs,
                batchSize,
                compression(config.path("codec").asInt(0)),
                config.get("linger_ms").asInt(),
                backoffMs,
                maxBackoffMs,
                config.get("delivery_timeout_ms").asInt(),
                new RecordAccumulator.PartitionerConfig(
                        config.get("adaptive").asBoolean(), config.get("availability_timeout_ms").asLong()),
                metrics,
                "producer-metrics",
                time,
                manager,
                pool) {
            @Override
            BuiltInPartitioner createBuiltInPartitioner(LogContext context, String topic, int stickyBatchSize) {
                return new BuiltInPartitioner(context, topic, stickyBatchSize) {
                    @Override
                    int randomPartition() {
                        return nextRandom();
                    }
                };
            }
        };
        set(accumulator, "retryBackoff", new ExponentialBackoff(backoffMs, 2, maxBackoffMs, 0.0));
        wire = new Wire(this) {
            @Override
            public LeastLoadedNode leastLoadedNode(long now) {
                return new LeastLoadedNode(anyNode(), true);
            }
        };
    }

    private TransactionManager manager(JsonNode config) {
        String mode = config.path("mode").asText("plain");
        if (mode.equals("plain")) {
            return null;
        }
        String id = mode.equals("transactional") ? "tx" : null;
        return new TransactionManager(logs, id, 60_000, config.get("retry_backoff_ms").asLong(), apiVersions, false) {
            @Override
            protected boolean shouldPoisonStateOnInvalidTransition() { // Kafka asks whether this is the sender's thread
                return StackWalker.getInstance().walk(frames -> frames.anyMatch(frame ->
                        frame.getClassName().endsWith("internals.Sender") || frame.getClassName().endsWith("internals.Wire")));
            }
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
        return manager.initializeTransactions(false);
    }

    @Override
    TransactionalRequestResult commitOffsets(Map<TopicPartition, OffsetAndMetadata> offsets, String group) {
        return manager.sendOffsetsToTransaction(offsets, new ConsumerGroupMetadata(group));
    }

    @Override
    void acknowledge(TransactionalRequestResult result, boolean isOfInit) {
        result.await(0, TimeUnit.MILLISECONDS, "");
        if (isOfInit) { // KafkaProducer.initTransactions
            manager.maybeUpdateTransactionV2Enabled(true);
        }
    }

    private static Compression compression(int codec) {
        return Compression.of(CompressionType.forId(codec)).build();
    }

    @Override
    byte[] compressed(int codec, byte[] data) {
        ByteBufferOutputStream bytes = new ByteBufferOutputStream(64);
        try (OutputStream stream = compression(codec).wrapForOutput(bytes, (byte) 2)) {
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
    void versions(JsonNode command) {
        List<ApiVersionsResponseData.FinalizedFeatureKey> features = List.of(new ApiVersionsResponseData.FinalizedFeatureKey()
                .setName("transaction.version")
                .setMinVersionLevel((short) command.get("level").asInt())
                .setMaxVersionLevel((short) command.get("level").asInt()));
        List<ApiVersionsResponseData.ApiVersion> versions = List.of(new ApiVersionsResponseData.ApiVersion()
                .setApiKey(ApiKeys.INIT_PRODUCER_ID.id)
                .setMinVersion((short) 0)
                .setMaxVersion((short) command.get("init").asInt()));
        apiVersions.update(
                command.get("node").asText(), new NodeApiVersions(versions, List.of(), features, command.get("epoch").asLong()));
    }

    @Override
    AbstractResponse producerId(int code, long producerId, short epoch) {
        return Answers.producerId(code, producerId, epoch);
    }

    @Override
    AbstractResponse transactionalResponse(ClientRequest request, JsonNode command) {
        return Answers.to(request.requestBuilder().build(), command);
    }

    @Override
    RecordAccumulator accumulator() {
        return accumulator;
    }

    @Override
    BufferPool pool() {
        return pool;
    }

    private MetadataSnapshot metadata() {
        Map<Integer, Node> nodes = new HashMap<>();
        Cluster cluster = cluster();
        cluster.nodes().forEach(node -> nodes.put(node.id(), node));
        List<PartitionMetadata> found = new ArrayList<>();
        for (JsonNode one : partitions) {
            int leader = one.get(2).asInt();
            found.add(new PartitionMetadata(
                    Errors.NONE,
                    new TopicPartition(one.get(0).asText(), one.get(1).asInt()),
                    leader < 0 ? Optional.empty() : Optional.of(leader),
                    one.get(3).asInt() < 0 ? Optional.empty() : Optional.of(one.get(3).asInt()),
                    List.of(),
                    List.of(),
                    List.of()));
        }
        return new MetadataSnapshot("c", nodes, found, Collections.emptySet(), Collections.emptySet(), Collections.emptySet(), null, Map.of(), cluster);
    }

    @Override
    void append(JsonNode command, byte[] key, byte[] value, Header[] headers) {
        int id = command.get("record").asInt();
        JsonNode to = command.get("partition");
        Callback callback = told(id);
        int[] chosen = new int[1];
        RecordAccumulator.AppendCallbacks callbacks = new RecordAccumulator.AppendCallbacks() {
            @Override
            public void setPartition(int partition) {
                chosen[0] = partition;
            }

            @Override
            public void onCompletion(RecordMetadata metadata, Exception error) {
                callback.onCompletion(metadata, error);
            }
        };
        try {
            RecordAccumulator.RecordAppendResult result = accumulator.append(
                    to.get(0).asText(),
                    to.get(1).asInt(),
                    START_MS + command.get("timestamp").asLong(),
                    key,
                    value,
                    headers,
                    callbacks,
                    command.get("block_ms").asLong(),
                    time.milliseconds(),
                    cluster());
            if (manager != null) { // KafkaProducer.doSend
                manager.maybeAddPartition(new TopicPartition(to.get(0).asText(), chosen[0]));
            }
            appended(id, chosen[0], result.batchIsFull, result.newBatchCreated);
        } catch (ApiException error) {
            refused(id, error);
            if (manager != null) {
                manager.maybeTransitionToErrorState(error);
            }
        } catch (InterruptedException e) { // KafkaProducer.doSend throws an InterruptException, which is one of these
            refused(id, new KafkaException("interrupted"));
        }
    }

    @Override
    Ready ready() {
        RecordAccumulator.ReadyCheckResult result = accumulator.ready(metadata(), time.milliseconds());
        return new Ready(result.readyNodes, result.nextReadyCheckDelayMs, result.unknownLeaderTopics);
    }

    @Override
    List<ProducerBatch> drain(int node, int maxSize) {
        List<ProducerBatch> batches =
                accumulator.drain(metadata(), Collections.singleton(node(node)), maxSize, time.milliseconds()).get(node);
        batches.forEach(batch -> batch.setInflight(true));
        return batches;
    }

    @Override
    void expire(ArrayNode told) {
        long now = time.milliseconds();
        accumulator.resetNextBatchExpiryTime();
        for (ProducerBatch batch : accumulator.expiredBatches(now)) {
            told.add(describe(batch));
            String text = "Expiring " + batch.recordCount + " record(s) for " + batch.topicPartition + ":" + (now - batch.createdMs)
                    + " ms has passed since batch creation"; // Sender.failExpiredBatches
            end(batch, new TimeoutException(text));
        }
        told.add(accumulator.nextExpiryTimeMs());
    }

    @Override
    void succeed(ProducerBatch batch, long baseOffset) {
        batch.setInflight(false);
        if (batch.complete(baseOffset, NO_TIME)) {
            accumulator.completeAndDeallocateBatch(batch);
        } else {
            accumulator.deallocate(batch);
        }
    }

    @Override
    void fail(ProducerBatch batch, RuntimeException error) {
        batch.setInflight(false);
        end(batch, error);
    }

    private void end(ProducerBatch batch, RuntimeException error) {
        if (batch.completeExceptionally(error, at -> error)) {
            accumulator.completeAndDeallocateBatch(batch);
        } else {
            accumulator.deallocate(batch);
        }
    }

    @Override
    void fresh(ProducerBatch batch) {
        batch.setInflight(false);
    }

    @Override
    void split(ProducerBatch batch) {
        batch.setInflight(false);
        accumulator.splitAndReenqueue(batch);
        accumulator.completeAndDeallocateBatch(batch);
    }

    @Override
    int choose(String topic, byte[] key) { // KafkaProducer.partition
        return key == null ? -1 : BuiltInPartitioner.partitionForKey(key, cluster().partitionsForTopic(topic).size());
    }

    @Override
    Sender sender(Wire wire, short acks, int retries, boolean guaranteeOrder) {
        ProducerMetadata asked =
                new ProducerMetadata(1, 1, Long.MAX_VALUE, Long.MAX_VALUE, logs, new ClusterResourceListeners(), time) {
                    @Override
                    public MetadataSnapshot fetchMetadataSnapshot() {
                        return metadata();
                    }

                    @Override
                    public synchronized int requestUpdate(boolean resetEquivalentResponseBackoff) {
                        updateRequested = true;
                        return 0;
                    }
                };
        return new Sender(
                logs, wire, asked, accumulator, guaranteeOrder, config.path("max_request_size").asInt(1_000_000), acks, retries,
                new SenderMetricsRegistry(metrics), time, config.get("request_timeout_ms").asInt(),
                config.get("retry_backoff_ms").asLong(), manager);
    }

    @Override
    void run(Sender sender) {
        sender.runOnce();
    }

    @Override
    boolean takeUpdateRequested() {
        boolean requested = updateRequested;
        updateRequested = false;
        return requested;
    }

    private static ProduceRequestData data(ClientRequest request) {
        return ((ProduceRequest) request.requestBuilder().build()).data();
    }

    @Override
    List<TopicPartition> partitions(ClientRequest request) {
        List<TopicPartition> found = new ArrayList<>();
        data(request).topicData().forEach(topic ->
                topic.partitionData().forEach(one -> found.add(new TopicPartition(topic.name(), one.index()))));
        return found;
    }

    @Override
    void describe(ClientRequest request, ObjectNode told) {
        if (!(request.requestBuilder() instanceof ProduceRequest.Builder)) {
            Answers.describe(request.requestBuilder().build(), told.putArray("asks"));
            return;
        }
        ProduceRequestData data = data(request);
        told.put("acks", data.acks()).put("timeout", data.timeoutMs());
        Map<String, Integer> sorted = new TreeMap<>();
        data.topicData().forEach(topic -> topic.partitionData()
                .forEach(one -> sorted.put(topic.name() + "-" + one.index(), one.records().sizeInBytes())));
        ObjectNode sizes = told.putObject("sizes");
        sorted.forEach(sizes::put);
        if (manager != null) {
            told.put("transactional_id", data.transactionalId() == null ? "" : data.transactionalId());
            told.put("v2", data.transactionalId() != null && request.requestBuilder().latestAllowedVersion() > 11);
            ObjectNode states = told.putObject("states");
            data.topicData().forEach(topic -> topic.partitionData().forEach(one -> state(
                    ((MemoryRecords) one.records()).buffer(), states.putArray(topic.name() + "-" + one.index()))));
        }
    }

    @Override
    AbstractResponse response(List<TopicPartition> partitions, JsonNode command) {
        JsonNode errors = command.get("errors");
        ProduceResponseData data = new ProduceResponseData().setThrottleTimeMs(command.get("throttle_ms").asInt());
        for (int at = 0; at < partitions.size(); at++) {
            TopicPartition partition = partitions.get(at);
            short error = (short) errors.get(at % errors.size()).asInt();
            ProduceResponseData.TopicProduceResponse topic = data.responses().find(partition.topic(), Uuid.ZERO_UUID);
            if (topic == null) {
                topic = new ProduceResponseData.TopicProduceResponse().setName(partition.topic());
                data.responses().add(topic);
            }
            List<ProduceResponseData.BatchIndexAndErrorMessage> named = new ArrayList<>();
            if (error != 0) {
                command.get("refused").forEach(index -> named.add(new ProduceResponseData.BatchIndexAndErrorMessage().setBatchIndex(index.asInt())));
            }
            topic.partitionResponses().add(new ProduceResponseData.PartitionProduceResponse()
                    .setIndex(partition.partition())
                    .setErrorCode(error)
                    .setRecordErrors(named)
                    .setLogStartOffset(command.path("log_start").asLong(-1))
                    .setBaseOffset(error == 0 ? command.path("base").asLong(1000) : -1));
        }
        return new ProduceResponse(data);
    }

    @Override
    void close(KafkaProducer<byte[], byte[]> producer) {
        producer.close(Duration.ZERO);
    }

    @Override
    void unmute(TopicPartition partition, long untilMs) {
        accumulator.unmutePartition(partition);
    }

    @Override
    void latency(int node, boolean canDrain) {
        accumulator.updateNodeLatencyStats(node, time.milliseconds(), canDrain);
    }
}
