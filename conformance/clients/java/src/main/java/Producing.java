// A producer that does what a list of steps says, with settings by Kafka's own names.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

final class Producing {
    private final KafkaProducer<byte[], byte[]> producer;
    private final List<Future<RecordMetadata>> sent = new ArrayList<>();

    private Producing(KafkaProducer<byte[], byte[]> producer) {
        this.producer = producer;
    }

    // plan: `settings`, and `steps`, each with what it does and with what.
    static void run(String bootstrap, JsonNode plan) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        plan.get("settings").fields().forEachRemaining(one -> settings.put(one.getKey(), one.getValue().asText()));
        settings.put("bootstrap.servers", bootstrap);
        settings.put("key.serializer", ByteArraySerializer.class);
        settings.put("value.serializer", ByteArraySerializer.class);
        try (var producer = new KafkaProducer<byte[], byte[]>(settings)) {
            var producing = new Producing(producer);
            for (JsonNode step : plan.get("steps")) {
                producing.take(step);
            }
            producer.flush();
            System.out.println(producing.report());
        }
    }

    private void take(JsonNode step) throws Exception {
        switch (step.get("do").asText()) {
            case "send" -> sent.add(send(step));
            case "flush" -> producer.flush();
            case "know" -> awaitMetadata();
            case "pause" -> Client.pause();
            case "init" -> producer.initTransactions();
            case "begin" -> producer.beginTransaction();
            case "commit" -> producer.commitTransaction();
            case "abort" -> producer.abortTransaction();
            default -> throw new IllegalArgumentException("no such step: " + step);
        }
    }

    // Until the first answer about the cluster has been taken in: before it, the age is that of 1970.
    private void awaitMetadata() throws InterruptedException {
        while (producer.metrics().entrySet().stream()
                .filter(one -> one.getKey().name().equals("metadata-age"))
                .anyMatch(one -> (double) one.getValue().metricValue() > 1e6)) {
            Thread.sleep(1);
        }
    }

    private Future<RecordMetadata> send(JsonNode step) throws IOException {
        var record = new ProducerRecord<byte[], byte[]>(
                step.get("topic").asText(),
                step.get("partition").isNull() ? null : step.get("partition").asInt(),
                step.get("timestamp_ms").asLong(),
                Client.bytes(step.get("key")),
                Client.bytes(step.get("value")));
        for (JsonNode header : step.get("headers")) {
            record.headers().add(header.get(0).asText(), Client.bytes(header.get(1)));
        }
        try {
            return producer.send(record);
        } catch (RuntimeException error) {
            return CompletableFuture.failedFuture(error);
        }
    }

    // Of each record where it was written, or why it was not.
    private ObjectNode report() throws InterruptedException {
        ObjectNode report = Client.JSON.createObjectNode();
        ArrayNode results = report.putArray("results");
        for (Future<RecordMetadata> future : sent) {
            ArrayNode result = results.addArray();
            try {
                RecordMetadata metadata = future.get();
                result.add(metadata.topic()).add(metadata.partition()).add(metadata.offset());
            } catch (ExecutionException error) {
                result.add(error.getCause().getClass().getSimpleName());
            }
        }
        return report;
    }
}
