// Apache Kafka's own clients over TLS and SASL: each line of stdin is a play, each line of stdout its result.

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public final class Secured {
    private static final Duration WAIT = Duration.ofSeconds(1);

    public static void main(String[] args) throws Exception {
        for (String line; (line = Client.INPUT.readLine()) != null; ) {
            ObjectNode told = Client.JSON.createObjectNode();
            try {
                told.put("value", play(Client.JSON.readTree(line)));
            } catch (Exception error) {
                Throwable first = error instanceof ExecutionException ? error.getCause() : error;
                for (; first.getClass().getSimpleName().equals("KafkaException") && first.getCause() != null; ) {
                    first = first.getCause();
                }
                told.put("error", first.getClass().getSimpleName()).put("text", texts(first));
            }
            Client.tell(told);
        }
    }

    private static String texts(Throwable error) {
        return error == null ? "" : error.getMessage() + "; " + texts(error.getCause());
    }

    private static String play(JsonNode play) throws Exception {
        return switch (play.get("do").asText()) {
            case "round trip" -> roundTrip(play);
            case "group" -> group(play);
            case "transaction" -> transaction(play);
            default -> throw new IllegalArgumentException(play.get("do").asText());
        };
    }

    private static Map<String, Object> settings(JsonNode play, Map<String, Object> own) {
        var settings = Client.JSON.convertValue(play.get("settings"), new TypeReference<Map<String, Object>>() {});
        return SecuredSettings.with(settings, own);
    }

    private static KafkaProducer<String, String> producer(JsonNode play, Map<String, Object> own) {
        return new KafkaProducer<>(settings(play, own), new StringSerializer(), new StringSerializer());
    }

    private static KafkaConsumer<String, String> consumer(JsonNode play, Map<String, Object> own) {
        return new KafkaConsumer<>(settings(play, own), new StringDeserializer(), new StringDeserializer());
    }

    private static ProducerRecord<String, String> record(JsonNode play) {
        return new ProducerRecord<>(play.get("topic").asText(), play.get("value").asText());
    }

    private static String roundTrip(JsonNode play) throws Exception {
        long offset;
        try (var producer = producer(play, Map.of("acks", "all"))) {
            offset = producer.send(record(play)).get().offset();
        }
        try (var consumer = consumer(play, Map.of())) {
            var partition = new TopicPartition(play.get("topic").asText(), 0);
            consumer.assign(List.of(partition));
            consumer.seek(partition, offset);
            return first(consumer);
        }
    }

    private static String group(JsonNode play) {
        var own = Map.<String, Object>of("group.id", play.get("group").asText(), "auto.offset.reset", "earliest");
        try (var consumer = consumer(play, own)) {
            consumer.subscribe(List.of(play.get("topic").asText()));
            return first(consumer);
        }
    }

    private static String first(KafkaConsumer<String, String> consumer) {
        while (true) {
            for (ConsumerRecord<String, String> record : consumer.poll(WAIT)) return record.value();
        }
    }

    private static String transaction(JsonNode play) throws Exception {
        try (var producer = producer(play, Map.of("transactional.id", play.get("transactional_id").asText()))) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(record(play)).get();
            producer.commitTransaction();
            return play.get("value").asText();
        }
    }
}
