// A member of a group, until it is told to leave.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

final class Member implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(50);
    private final BlockingQueue<String> told = new LinkedBlockingQueue<>();
    private final TreeSet<Integer> assigned = new TreeSet<>();

    void run(String bootstrap, JsonNode member) throws Exception {
        Thread listener = new Thread(this::listen);
        listener.setDaemon(true);
        listener.start();
        try (var consumer = new KafkaConsumer<byte[], byte[]>(settings(bootstrap, member))) {
            consumer.subscribe(List.of(member.get("topic").asText()), this);
            boolean failed = false;
            while (true) {
                String what = failed ? told.take() : told.poll();
                if ("close".equals(what)) {
                    break;
                }
                try {
                    if ("commit".equals(what)) {
                        consumer.commitSync();
                        Client.tell(Client.JSON.createObjectNode().put("committed", true));
                    }
                    read(consumer);
                } catch (RuntimeException error) {
                    failed = true;
                    Client.tell(Client.JSON.createObjectNode().put("error", error.getClass().getSimpleName()));
                }
            }
        }
        Client.tell(Client.JSON.createObjectNode().put("closed", true));
    }

    private void listen() {
        try {
            for (String line; (line = Client.INPUT.readLine()) != null; ) {
                told.add(Client.JSON.readTree(line).get("do").asText());
            }
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    private static void read(KafkaConsumer<byte[], byte[]> consumer) {
        ObjectNode event = Client.JSON.createObjectNode();
        ArrayNode read = event.putArray("read");
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
            String value = new String(record.value(), StandardCharsets.UTF_8);
            read.addArray().add(record.partition()).add(record.offset()).add(value);
        }
        if (!read.isEmpty()) {
            Client.tell(event);
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        partitions.forEach(each -> assigned.add(each.partition()));
        tellAssigned();
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        partitions.forEach(each -> assigned.remove(each.partition()));
        tellAssigned();
    }

    private void tellAssigned() {
        ObjectNode event = Client.JSON.createObjectNode();
        assigned.forEach(event.putArray("assigned")::add);
        Client.tell(event);
    }

    private static Map<String, Object> settings(String bootstrap, JsonNode member) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", member.get("group").asText());
        settings.put("group.protocol", member.get("protocol").asText());
        if (member.get("protocol").asText().equals("classic")) { // else the broker decides these
            boolean cooperative = member.get("assignor").asText().equals("cooperative-sticky");
            settings.put(
                    "partition.assignment.strategy",
                    List.of(cooperative ? CooperativeStickyAssignor.class : RangeAssignor.class));
            settings.put("session.timeout.ms", member.get("session_ms").asInt());
            settings.put("heartbeat.interval.ms", member.get("heartbeat_ms").asInt());
        }
        if (!member.get("instance").isNull()) {
            settings.put("group.instance.id", member.get("instance").asText());
        }
        settings.put("auto.offset.reset", member.get("reset").asText());
        settings.put("enable.auto.commit", false);
        settings.put("key.deserializer", ByteArrayDeserializer.class);
        settings.put("value.deserializer", ByteArrayDeserializer.class);
        return settings;
    }
}
