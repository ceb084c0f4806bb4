package org.apache.kafka.clients;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.internals.ClusterResourceListeners;
import org.apache.kafka.common.network.ChannelState;
import org.apache.kafka.common.network.NetworkReceive;
import org.apache.kafka.common.network.Selectable;
import org.apache.kafka.common.network.Send;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.ApiVersionsResponse;
import org.apache.kafka.common.requests.ByteBufferChannel;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.ResponseHeader;
import org.apache.kafka.common.utils.LogContext;

/** Kafka 2.0. */
public final class NetworkOfGeneration extends Network {
    private final Metadata metadata;

    public NetworkOfGeneration(JsonNode config) {
        super(config);
        metadata = new Metadata(
                config.get("retry_backoff_ms").asLong(), config.get("metadata_max_age_ms").asLong(), true, true, new ClusterResourceListeners());
        metadata.update(Cluster.bootstrap(bootstrap()), Collections.emptySet(), time.milliseconds());
        ordered(metadata.fetch());
        begin(new NetworkClient(
                new Connections(),
                metadata,
                "client",
                config.get("most").asInt(),
                config.get("reconnect_backoff_ms").asLong(),
                config.get("reconnect_backoff_max_ms").asLong(),
                0,
                0,
                config.get("request_timeout_ms").asInt(),
                time,
                true,
                new ApiVersions(),
                new LogContext()));
    }

    /** 2.0 draws its back-offs by itself: they have to be within a fifth of the middle, and are put there. */
    @Override
    protected void settle() {
        ordered(metadata.fetch());
        long initMs = config.get("reconnect_backoff_ms").asLong();
        long maxMs = config.get("reconnect_backoff_max_ms").asLong();
        for (Object state : ((Map<?, ?>) get(get(client, "connectionStates"), "nodeState")).values()) {
            long failed = (Long) get(state, "failedAttempts");
            long drawnMs = (Long) get(state, "reconnectBackoffMs");
            if (failed > 0) {
                double most = Math.log(maxMs / (double) Math.max(initMs, 1)) / Math.log(2);
                long middleMs = (long) (initMs * Math.pow(2, Math.min(failed - 1, most)));
                if (drawnMs < (long) (0.8 * middleMs) || drawnMs > (long) (1.2 * middleMs)) {
                    throw new IllegalStateException(drawnMs + " ms after " + failed + " failures");
                }
                set(state, "reconnectBackoffMs", middleMs);
            }
        }
    }

    @Override
    protected AbstractRequest.Builder<?> produce(short acks) {
        return ProduceRequest.Builder.forCurrentMagic(acks, 1, new HashMap<>());
    }

    @Override
    protected ByteBuffer answer(RequestHeader header, JsonNode spec) {
        short version = header.apiVersion();
        int throttleMs = spec.get("throttle_ms").asInt();
        AbstractResponse response;
        switch (header.apiKey()) {
            case API_VERSIONS -> {
                Errors error = Errors.forCode((short) spec.get("error").asInt());
                List<ApiVersionsResponse.ApiVersion> ranges = new ArrayList<>();
                for (JsonNode range : spec.get("ranges")) {
                    ranges.add(new ApiVersionsResponse.ApiVersion(
                            (short) range.get(0).asInt(), (short) range.get(1).asInt(), (short) range.get(2).asInt()));
                }
                response = new ApiVersionsResponse(throttleMs, error, ranges);
            }
            case METADATA -> response = metadata(spec);
            default -> response = new ProduceResponse(new HashMap<>(), throttleMs);
        }
        return response.serialize(version, new ResponseHeader(header.correlationId()));
    }

    private static MetadataResponse metadata(JsonNode spec) {
        List<Node> brokers = new ArrayList<>();
        spec.get("brokers").forEach(one -> brokers.add(node(one)));
        List<MetadataResponse.TopicMetadata> topics = new ArrayList<>();
        for (JsonNode one : spec.get("topics")) {
            List<MetadataResponse.PartitionMetadata> partitions = new ArrayList<>();
            for (JsonNode partition : one.get(3)) {
                int leader = partition.get(1).asInt();
                partitions.add(new MetadataResponse.PartitionMetadata(
                        Errors.forCode((short) partition.get(3).asInt()),
                        partition.get(0).asInt(),
                        leader < 0 ? null : node(leader, "127.0.0.1"),
                        List.of(),
                        List.of(),
                        List.of()));
            }
            topics.add(new MetadataResponse.TopicMetadata(
                    Errors.forCode((short) one.get(1).asInt()), one.get(0).asText(), false, partitions));
        }
        return new MetadataResponse(spec.get("throttle_ms").asInt(), brokers, "c", -1, topics);
    }

    @Override
    protected void addTopic(String topic) {
        metadata.add(topic);
    }

    @Override
    protected int requestUpdate() {
        return metadata.requestUpdate();
    }

    @Override
    protected int requestUpdateForTopic(String topic) {
        return metadata.requestUpdate();
    }

    @Override
    protected void failedUpdate() {
        metadata.failedUpdate(time.milliseconds(), null);
    }

    @Override
    protected void ask(ArrayNode told) {
        ArrayNode topics = told.addArray();
        metadata.topics().forEach(topics::add);
        told.add(false);
    }

    @Override
    protected void answerAsked(JsonNode spec) {
        if (!spec.get("brokers").isEmpty()) {
            MetadataResponse response = MetadataResponse.parse(metadata(spec).serialize((short) 6, new ResponseHeader(0)).position(4), (short) 6);
            metadata.update(response.cluster(), response.unavailableTopics(), time.milliseconds());
        }
    }

    @Override
    protected void leaders(JsonNode command, ArrayNode told) {}

    @Override
    protected String topicError(String topic) {
        return metadata.fetch().unauthorizedTopics().contains(topic) ? "TopicAuthorizationException" : "none";
    }

    @Override
    protected void tellMetadata(ArrayNode told) {
        told.add(metadata.version()).add(metadata.updateRequested()).add(metadata.timeToNextUpdate(time.milliseconds()));
    }

    @Override
    protected Cluster cluster() {
        return metadata.fetch();
    }

    @Override
    protected Node leastLoaded() {
        return client.leastLoadedNode(time.milliseconds());
    }

    @Override
    protected boolean timedOut(ClientResponse response) {
        return false;
    }

    private final class Connections implements Selectable {
        @Override
        public void connect(String id, InetSocketAddress address, int sendBufferSize, int receiveBufferSize) {
            wires.connect(id, address);
        }

        @Override
        public void wakeup() {}

        @Override
        public void close() {}

        @Override
        public void close(String id) {
            wires.close(id);
        }

        @Override
        public void send(Send send) {
            wires.send(send.destination(), send);
        }

        @Override
        public void poll(long timeoutMs) throws IOException {
            wires.poll(timeoutMs, one -> {
                Send send = (Send) one;
                try (ByteBufferChannel nowhere = new ByteBufferChannel(send.size())) {
                    while (!send.completed()) {
                        send.writeTo(nowhere);
                    }
                }
            });
        }

        @Override
        public List<Send> completedSends() {
            List<Send> found = new ArrayList<>();
            wires.completedSends.forEach(send -> found.add((Send) send));
            return found;
        }

        @Override
        public List<NetworkReceive> completedReceives() {
            List<NetworkReceive> found = new ArrayList<>();
            wires.receives.forEach((id, bytes) -> found.add(new NetworkReceive(id, bytes)));
            return found;
        }

        @Override
        public Map<String, ChannelState> disconnected() {
            Map<String, ChannelState> found = new LinkedHashMap<>();
            wires.lost.forEach((id, wasThere) -> found.put(id, wasThere ? ChannelState.READY : ChannelState.NOT_CONNECTED));
            return found;
        }

        @Override
        public List<String> connected() {
            return new ArrayList<>(wires.connected);
        }

        @Override
        public void mute(String id) {}

        @Override
        public void unmute(String id) {}

        @Override
        public void muteAll() {}

        @Override
        public void unmuteAll() {}

        @Override
        public boolean isChannelReady(String id) {
            return wires.isChannelReady(id);
        }
    }
}
