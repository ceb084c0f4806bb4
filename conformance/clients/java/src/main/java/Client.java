// Apache Kafka's own clients: the producer here and in Producing, the consumer in Member, the administrator in
// Administrator, and what does both exactly once in Processor.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public final class Client {
    static final ObjectMapper JSON = new ObjectMapper();
    static final BufferedReader INPUT = new BufferedReader(new InputStreamReader(System.in));

    public static void main(String[] args) throws Exception {
        JsonNode plan = JSON.readTree(INPUT.readLine());
        String bootstrap = plan.get("bootstrap").asText();
        if (plan.has("member")) {
            new Member().run(bootstrap, plan.get("member"));
            return;
        }
        if (plan.has("processor")) {
            Processor.run(bootstrap, plan.get("processor"));
            return;
        }
        if (plan.has("administrator")) {
            Administrator.run(bootstrap);
            return;
        }
        if (plan.has("producing")) {
            Producing.run(bootstrap, plan.get("producing"));
            return;
        }
        ObjectNode report = JSON.createObjectNode();
        report.put("client", "kafka-clients").put("version", version());
        ArrayNode jobs = report.putArray("jobs");
        for (JsonNode job : plan.get("jobs")) {
            ArrayNode results = jobs.addObject().put("name", job.get("name").asText()).putArray("results");
            run(bootstrap, job, results);
        }
        System.out.println(report);
    }

    private static void run(String bootstrap, JsonNode job, ArrayNode results) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (var producer = new KafkaProducer<byte[], byte[]>(settings(bootstrap, job))) {
            for (JsonNode record : job.get("records")) {
                if (sent.size() == job.get("pause_before").asInt(-1)) {
                    producer.flush();
                    pause();
                }
                sent.add(send(producer, job, record));
            }
            producer.flush();
        }
        for (Future<RecordMetadata> future : sent) {
            ObjectNode result = results.addObject();
            try {
                RecordMetadata metadata = future.get();
                result.put("partition", metadata.partition()).put("offset", metadata.offset());
            } catch (ExecutionException error) {
                result.put("error", error.getCause().getClass().getSimpleName());
            }
        }
    }

    private static Map<String, Object> settings(String bootstrap, JsonNode job) {
        int timeoutMs = job.get("timeout_ms").asInt();
        boolean retries = job.get("retries").asBoolean();
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("acks", job.get("acks").asText());
        settings.put("enable.idempotence", job.get("idempotent").asBoolean());
        settings.put("compression.type", job.get("codec").asText());
        settings.put("linger.ms", job.get("linger_ms").asInt());
        settings.put("request.timeout.ms", timeoutMs); // what the broker is told and what the client waits
        settings.put("delivery.timeout.ms", retries ? timeoutMs * 20 : timeoutMs + 4_000);
        settings.put("max.block.ms", job.get("block_ms").asInt());
        settings.put("retries", retries ? Integer.MAX_VALUE : 0);
        settings.put("key.serializer", ByteArraySerializer.class);
        settings.put("value.serializer", ByteArraySerializer.class);
        return settings;
    }

    private static Future<RecordMetadata> send(KafkaProducer<byte[], byte[]> producer, JsonNode job, JsonNode record)
            throws IOException {
        var message = new ProducerRecord<byte[], byte[]>(
                job.get("topic").asText(),
                record.get("partition").asInt(),
                record.get("timestamp_ms").asLong(),
                bytes(record.get("key")),
                bytes(record.get("value")));
        for (JsonNode header : record.get("headers")) {
            message.headers().add(header.get(0).asText(), bytes(header.get(1)));
        }
        try {
            return producer.send(message);
        } catch (RuntimeException error) {
            return CompletableFuture.failedFuture(error);
        }
    }

    static synchronized void tell(ObjectNode event) {
        System.out.println(event);
    }

    private static String version() throws IOException {
        Properties properties = new Properties();
        try (var stream = KafkaProducer.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            properties.load(stream);
        }
        return properties.getProperty("version");
    }

    // Tell the harness that everything up to here is delivered, and wait for its word.
    static void pause() throws IOException {
        System.out.println("paused");
        INPUT.readLine();
    }

    static byte[] bytes(JsonNode text) throws IOException {
        return text.isNull() ? null : text.binaryValue();
    }
}
