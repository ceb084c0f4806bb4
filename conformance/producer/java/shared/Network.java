package org.apache.kafka.clients;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.lang.reflect.Field;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.MetadataRequest;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.utils.MockTime;

/**
 * The real NetworkClient, on connections that do what the sequence says, and the real metadata of a producer.
 *
 * <p>What is by chance is read from the sequence; back-offs have no jitter; nodes come by their ids.
 */
public abstract class Network {
    protected static final ObjectMapper JSON = new ObjectMapper();
    private static final long START_MS = 1_000_000L;

    protected final JsonNode config;
    protected final MockTime time = new MockTime(0, START_MS, START_MS * 1_000_000L);
    protected final Wires wires = new Wires();
    protected NetworkClient client;
    private ArrayNode events;
    private int random;

    protected Network(JsonNode config) {
        this.config = config;
    }

    protected final void begin(NetworkClient made) {
        client = made;
        set(client, "randOffset", new Random() {
            @Override
            public int nextInt(int bound) {
                JsonNode randoms = config.get("randoms");
                return randoms.get(random++ % randoms.size()).asInt() % bound;
            }
        });
    }

    /** As the broker answers a request with this header. */
    protected abstract ByteBuffer answer(RequestHeader header, JsonNode spec);

    protected abstract AbstractRequest.Builder<?> produce(short acks);

    protected abstract void addTopic(String topic);

    protected abstract int requestUpdate();

    protected abstract int requestUpdateForTopic(String topic);

    protected abstract void failedUpdate();

    /** What to ask now, of the metadata alone: the topics, and whether that is not all. */
    protected abstract void ask(ArrayNode told);

    protected abstract void answerAsked(JsonNode spec);

    protected abstract void leaders(JsonNode command, ArrayNode told);

    protected abstract String topicError(String topic);

    /** The version of the metadata, whether an update is requested, and how long until the next. */
    protected abstract void tellMetadata(ArrayNode told);

    protected abstract Cluster cluster();

    protected abstract Node leastLoaded();

    protected abstract boolean timedOut(ClientResponse response);

    /** After each command: what a generation cannot be told beforehand. */
    protected void settle() {}

    public ObjectNode play(JsonNode command) {
        ObjectNode answer = JSON.createObjectNode();
        events = answer.putArray("events");
        ArrayNode told = answer.putArray("told");
        long now = time.milliseconds();
        String node = command.path("node").asText();
        switch (command.get("do").asText()) {
            case "tick" -> time.sleep(command.get("ms").asLong());
            case "ready" -> told.add(client.ready(node(command.get("node").asInt(), command.get("host").asText()), now));
            case "send" -> send(command, node, now, told);
            case "poll" -> poll(command, now, told);
            case "disconnect" -> {
                if (wires.knows(node)) {
                    client.disconnect(node);
                }
            }
            case "close" -> client.close(node);
            case "least" -> {
                Node found = leastLoaded();
                told.add(found == null ? "none" : found.idString());
            }
            case "add" -> addTopic(command.get("topic").asText());
            case "request" -> told.add(requestUpdate());
            case "request_for" -> told.add(requestUpdateForTopic(command.get("topic").asText()));
            case "fail" -> failedUpdate();
            case "ask" -> ask(told);
            case "answer_asked" -> answerAsked(command);
            case "leaders" -> leaders(command, told);
            case "topic_error" -> told.add(topicError(command.get("topic").asText()));
            default -> throw new IllegalArgumentException(command.toString());
        }
        settle();
        tell(answer);
        return answer;
    }

    private void send(JsonNode command, String node, long now, ArrayNode told) {
        boolean ready = client.isReady(node(command.get("node").asInt(), "127.0.0.1"), now);
        told.add(ready);
        if (ready) {
            boolean expects = command.get("expects").asBoolean();
            ClientRequest request = client.newClientRequest(node, produce((short) (expects ? -1 : 0)), now, expects);
            client.send(request, now);
        }
    }

    private void poll(JsonNode command, long now, ArrayNode told) {
        wires.next = command;
        wires.polledMs = -1;
        for (ClientResponse response : client.poll(command.get("timeout").asLong(), now)) {
            told.addObject()
                    .put("node", response.destination())
                    .put("correlation", response.requestHeader().correlationId())
                    .put("api", response.requestHeader().apiKey().id)
                    .put("disconnected", response.wasDisconnected())
                    .put("timed_out", timedOut(response))
                    .put("mismatch", response.versionMismatch() != null)
                    .put("answered", response.hasResponse());
        }
        told.add(wires.polledMs);
    }

    private void tell(ObjectNode answer) {
        long now = time.milliseconds();
        ArrayNode nodes = answer.putArray("nodes");
        for (JsonNode id : config.get("nodes")) {
            Node node = node(id.asInt(), "127.0.0.1");
            nodes.addArray()
                    .add(client.isReady(node, now))
                    .add(client.connectionDelay(node, now))
                    .add(client.pollDelayMs(node, now))
                    .add(client.connectionFailed(node))
                    .add(client.inFlightRequestCount(node.idString()));
        }
        answer.put("in_flight", client.inFlightRequestCount()).put("ready", client.hasReadyNodes(now));
        ArrayNode metadata = answer.putArray("metadata");
        tellMetadata(metadata);
        Cluster cluster = cluster();
        for (Node node : cluster.nodes()) {
            ArrayNode one = metadata.addArray().add(node.id()).add(node.host()).add(node.port());
            cluster.partitionsForNode(node.id()).forEach(info -> one.add(info.topic() + "-" + info.partition()));
        }
        for (JsonNode topic : config.get("topics")) {
            ArrayNode one = metadata.addArray().add(topic.asText());
            for (PartitionInfo info : cluster.partitionsForTopic(topic.asText())) {
                one.add(info.partition()).add(info.leader() == null ? -1 : info.leader().id());
            }
        }
    }

    protected static Node node(int id, String host) {
        return new Node(id, host, 9092 + Math.abs(id));
    }

    protected static Node node(JsonNode one) {
        return new Node(one.get(0).asInt(), one.get(1).asText(), one.get(2).asInt());
    }

    protected List<InetSocketAddress> bootstrap() {
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (JsonNode host : config.get("bootstrap")) {
            addresses.add(new InetSocketAddress(host.asText(), 9092));
        }
        return addresses;
    }

    /** Kafka shuffles them. */
    protected static Cluster ordered(Cluster cluster) {
        List<Node> nodes = new ArrayList<>(cluster.nodes());
        nodes.sort(Comparator.comparingInt(Node::id));
        set(cluster, "nodes", Collections.unmodifiableList(nodes));
        return cluster;
    }

    protected static Object get(Object of, String name) {
        try {
            return field(of, name).get(of);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    protected static void set(Object of, String name, Object value) {
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

    /** Connections: what the client does to them is told, and what happens to them is what a poll says. */
    protected final class Wires {
        public final List<Object> completedSends = new ArrayList<>();
        public final Map<String, ByteBuffer> receives = new LinkedHashMap<>();
        public final Map<String, Boolean> lost = new LinkedHashMap<>(); // whether it had been there
        public final List<String> connected = new ArrayList<>();
        private final Set<String> connecting = new HashSet<>();
        private final Set<String> channels = new HashSet<>();
        private final Map<Object, String> unwritten = new LinkedHashMap<>();
        private final Map<String, List<RequestHeader>> unanswered = new LinkedHashMap<>();
        private JsonNode next;
        private long polledMs;

        public boolean knows(String id) {
            return connecting.contains(id) || channels.contains(id);
        }

        public boolean isChannelReady(String id) {
            return channels.contains(id);
        }

        public void connect(String id, InetSocketAddress address) {
            events.addObject().put("connect", id).put("host", address.getHostString()).put("port", address.getPort());
            connecting.add(id);
        }

        public void close(String id) {
            events.addObject().put("close", id);
            drop(id);
        }

        public void send(String id, Object send) {
            NetworkClient.InFlightRequest sent = ((InFlightRequests) get(client, "inFlightRequests")).lastSent(id);
            ObjectNode told = events.addObject()
                    .put("send", id)
                    .put("api", sent.header.apiKey().id)
                    .put("version", sent.header.apiVersion())
                    .put("correlation", sent.header.correlationId())
                    .put("expects", sent.expectResponse);
            if (sent.request instanceof MetadataRequest request) {
                ArrayNode topics = told.putArray("topics");
                request.topics().forEach(topics::add);
            }
            unwritten.put(send, id);
            if (sent.expectResponse) {
                unanswered.computeIfAbsent(id, key -> new ArrayList<>()).add(sent.header);
            }
        }

        public void poll(long timeoutMs, Writer writer) throws IOException {
            polledMs = timeoutMs;
            completedSends.clear();
            receives.clear();
            lost.clear();
            connected.clear();
            time.sleep(next.get("ms").asLong());
            if (next.get("write").asBoolean()) {
                for (Object send : unwritten.keySet()) {
                    writer.write(send);
                    completedSends.add(send);
                }
                unwritten.clear();
            }
            for (JsonNode event : next.get("events")) {
                happen(event, event.get("node").asText());
            }
        }

        private void happen(JsonNode event, String id) {
            switch (event.get("what").asText()) {
                case "connect" -> {
                    if (connecting.remove(id)) {
                        channels.add(id);
                        connected.add(id);
                    }
                }
                case "refuse" -> {
                    if (connecting.contains(id)) {
                        drop(id);
                        lost.put(id, false);
                    }
                }
                case "lose" -> {
                    if (channels.contains(id) && !connected.contains(id)) {
                        drop(id);
                        lost.put(id, true);
                    }
                }
                case "answer" -> {
                    List<RequestHeader> waiting = unanswered.getOrDefault(id, List.of());
                    if (!waiting.isEmpty() && !receives.containsKey(id) && !unwritten.containsValue(id)) {
                        receives.put(id, answer(waiting.remove(0), event));
                    }
                }
                default -> throw new IllegalArgumentException(event.toString());
            }
        }

        private void drop(String id) {
            connecting.remove(id);
            channels.remove(id);
            unanswered.remove(id);
            unwritten.values().removeIf(id::equals);
        }
    }

    /** Writes all of a Send. */
    protected interface Writer {
        void write(Object send) throws IOException;
    }
}
