// Consumes, transforms and produces exactly once.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

final class Processor {
    private static final int DEAD = 9;
    private final JsonNode given;
    private final KafkaProducer<byte[], byte[]> producer;
    private KafkaConsumer<byte[], byte[]> consumer;
    private String die;
    private boolean aborts;

    static void run(String bootstrap, JsonNode given) {
        try {
            new Processor(bootstrap, given).transformAll(bootstrap);
        } catch (Exception error) {
            Client.tell(Client.JSON.createObjectNode().put("error", error.getClass().getSimpleName()));
            Runtime.getRuntime().halt(1);
        }
    }

    private Processor(String bootstrap, JsonNode given) {
        this.given = given;
        die = given.get("die").asText(null);
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", given.get("id").asText());
        settings.put("key.serializer", ByteArraySerializer.class);
        settings.put("value.serializer", ByteArraySerializer.class);
        producer = new KafkaProducer<>(settings);
    }

    private void transformAll(String bootstrap) throws Exception {
        producer.initTransactions();
        reached("init");
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", given.get("group").asText());
        settings.put("group.instance.id", given.get("instance").asText());
        settings.put("isolation.level", "read_committed");
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", false);
        settings.put("max.poll.records", 1);
        settings.put("key.deserializer", ByteArrayDeserializer.class);
        settings.put("value.deserializer", ByteArrayDeserializer.class);
        consumer = new KafkaConsumer<>(settings);
        consumer.subscribe(List.of(given.get("in").asText()));
        while (true) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                while (!transformed(record)) {}
            }
        }
    }

    // False if it was aborted.
    private boolean transformed(ConsumerRecord<byte[], byte[]> record) throws Exception {
        String value = new String(record.value(), StandardCharsets.UTF_8);
        consumed(value);
        producer.beginTransaction();
        reached("begun");
        String out = given.get("out").asText();
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        sent.add(producer.send(new ProducerRecord<>(out, 0, null, record.value())));
        reached("produced");
        sent.add(producer.send(new ProducerRecord<>(out, 1, null, record.value())));
        producer.flush();
        for (Future<RecordMetadata> each : sent) {
            each.get();
        }
        reached("flushed");
        if (aborts) {
            producer.abortTransaction();
            reached("aborted");
            tell("aborted", value);
            return false;
        }
        var place = new TopicPartition(record.topic(), record.partition());
        producer.sendOffsetsToTransaction(
                Map.of(place, new OffsetAndMetadata(record.offset() + 1)), consumer.groupMetadata());
        reached("offsets");
        producer.commitTransaction();
        reached("committed");
        tell("done", value);
        return true;
    }

    // Tells of an input, and waits for the word to go on.
    private void consumed(String value) throws IOException {
        tell("consumed", value);
        JsonNode said = Client.JSON.readTree(Client.INPUT.readLine());
        die = said.get("die").asText(null);
        aborts = said.get("do").asText().equals("abort");
        reached("consumed");
    }

    // Ends the program if that is its step: nothing is closed, nobody is told.
    private void reached(String step) {
        if (step.equals(die)) {
            Runtime.getRuntime().halt(DEAD);
        }
    }

    private static void tell(String what, String value) {
        ObjectNode event = Client.JSON.createObjectNode().put(what, value);
        Client.tell(event);
    }
}
