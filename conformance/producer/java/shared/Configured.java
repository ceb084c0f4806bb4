package org.apache.kafka.clients.producer.internals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** What a KafkaProducer makes of settings: those of its parts where they have them, else its configuration's. */
final class Configured {
    private Configured() {}

    static ObjectNode told(Subject subject, JsonNode command) {
        ObjectNode told = Subject.JSON.createObjectNode();
        Map<String, Object> settings = new HashMap<>();
        command.get("settings").fields().forEachRemaining(entry -> settings.put(entry.getKey(), entry.getValue().asText()));
        settings.put("bootstrap.servers", "127.0.0.1:1");
        KafkaProducer<byte[], byte[]> producer;
        try {
            producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        } catch (KafkaException error) {
            Throwable reason = error.getCause() == null ? error : error.getCause();
            return told.put("refused", reason.getClass().getSimpleName());
        }
        try {
            ProducerConfig config = (ProducerConfig) Subject.get(producer, "producerConfig");
            for (JsonNode name : command.get("names")) {
                told.put(name.asText(), String.valueOf(config.values().get(name.asText())));
            }
            Sender sender = (Sender) Subject.get(producer, "sender");
            told.put("acks", String.valueOf(Subject.get(sender, "acks")));
            told.put("retries", String.valueOf(Subject.get(sender, "retries")));
            told.put("enable.idempotence", String.valueOf(Subject.get(sender, "transactionManager") != null));
            if (told.has("delivery.timeout.ms")) {
                Object accumulator = Subject.get(producer, "accumulator");
                told.put("delivery.timeout.ms", String.valueOf(Subject.get(accumulator, "deliveryTimeoutMs")));
                told.put("linger.ms", String.valueOf(Subject.get(accumulator, "lingerMs")));
            }
        } finally {
            subject.close(producer);
        }
        return told;
    }
}
