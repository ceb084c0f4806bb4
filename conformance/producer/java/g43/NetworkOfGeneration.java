package org.apache.kafka.clients;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import org.apache.kafka.clients.producer.internals.ProducerMetadata;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.internals.ClusterResourceListeners;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ProduceResponseData;
import org.apache.kafka.common.network.ChannelState;
import org.apache.kafka.common.network.NetworkReceive;
import org.apache.kafka.common.network.NetworkSend;
import org.apache.kafka.common.network.Selectable;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.ApiVersionsResponse;
import org.apache.kafka.common.requests.ByteBufferChannel;
import org.apache.kafka.common.requests.MetadataRequest;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.RequestTestUtils;
import org.apache.kafka.common.utils.ExponentialBackoff;
import org.apache.kafka.common.utils.LogContext;

/** Kafka 4.3. */
public final class NetworkOfGeneration extends Network {
    private final ProducerMetadata metadata;
    private Metadata.MetadataRequestAndVersion asked;

    public NetworkOfGeneration(JsonNode config) {
        super(config);
        LogContext logs = new LogContext();
        long retryMs = config.get("retry_backoff_ms").asLong();
        long retryMaxMs = config.get("retry_backoff_max_ms").asLong();
        metadata = new ProducerMetadata(
                retryMs,
                retryMaxMs,
                config.get("metadata_max_age_ms").asLong(),
                config.get("metadata_max_idle_ms").asLong(),
                logs,
                new ClusterResourceListeners(),
                time) {
            @Override
            public Cluster fetch() {
                return ordered(super.fetch());
            }
        };
        set(metadata, "refreshBackoff", new ExponentialBackoff(retryMs, 2, retryMaxMs, 0.0));
        metadata.bootstrap(bootstrap());
        long reconnectMs = config.get("reconnect_backoff_ms").asLong();
        long reconnectMaxMs = config.get("reconnect_backoff_max_ms").asLong();
        long setupMs = config.get("setup_timeout_ms").asLong();
        long setupMaxMs = config.get("setup_timeout_max_ms").asLong();
        NetworkClient made = new NetworkClient(
                null,
                metadata,
                new Connections(),
                "client",
                config.get("most").asInt(),
                reconnectMs,
                reconnectMaxMs,
                0,
                0,
                config.get("request_timeout_ms").asInt(),
                setupMs,
                setupMaxMs,
                time,
                true,
                new ApiVersions(),
                null,
                logs,
                host -> new InetAddress[] {InetAddress.getByName(host)},
                null,
                config.get("rebootstrap_trigger_ms").asLong(),
                MetadataRecoveryStrategy.forName(config.get("recovery").asText()));
        Object states = get(made, "connectionStates");
        set(states, "reconnectBackoff", new ExponentialBackoff(reconnectMs, 2, reconnectMaxMs, 0.0));
        set(states, "connectionSetupTimeout", new ExponentialBackoff(setupMs, 2, setupMaxMs, 0.0));
        begin(made);
    }

    @Override
    protected AbstractRequest.Builder<?> produce(short acks) {
        return ProduceRequest.builder(new ProduceRequestData().setAcks(acks).setTimeoutMs(1));
    }

    @Override
    protected ByteBuffer answer(RequestHeader header, JsonNode spec) {
        short version = header.apiVersion();
        int throttleMs = spec.get("throttle_ms").asInt();
        AbstractResponse response = switch (header.apiKey()) {
            case API_VERSIONS -> {
                short error = (short) spec.get("error").asInt();
                ApiVersionsResponseData data = new ApiVersionsResponseData().setErrorCode(error).setThrottleTimeMs(throttleMs);
                for (JsonNode range : spec.get("ranges")) {
                    data.apiKeys().add(new ApiVersionsResponseData.ApiVersion()
                            .setApiKey((short) range.get(0).asInt())
                            .setMinVersion((short) range.get(1).asInt())
                            .setMaxVersion((short) range.get(2).asInt()));
                }
                if (error == 35) {
                    version = 0;
                }
                yield new ApiVersionsResponse(data);
            }
            case METADATA -> new MetadataResponse(metadata(spec), version);
            default -> new ProduceResponse(new ProduceResponseData().setThrottleTimeMs(throttleMs));
        };
        return RequestTestUtils.serializeResponseWithHeader(response, version, header.correlationId());
    }

    private static MetadataResponseData metadata(JsonNode spec) {
        MetadataResponseData data = new MetadataResponseData()
                .setThrottleTimeMs(spec.get("throttle_ms").asInt())
                .setErrorCode((short) spec.get("whole_error").asInt())
                .setClusterId("c");
        for (JsonNode one : spec.get("brokers")) {
            Node node = node(one);
            data.brokers().add(new MetadataResponseData.MetadataResponseBroker().setNodeId(node.id()).setHost(node.host()).setPort(node.port()));
        }
        for (JsonNode one : spec.get("topics")) {
            int id = one.get(2).asInt();
            MetadataResponseData.MetadataResponseTopic topic = new MetadataResponseData.MetadataResponseTopic()
                    .setName(one.get(0).asText())
                    .setErrorCode((short) one.get(1).asInt())
                    .setTopicId(id == 0 ? Uuid.ZERO_UUID : new Uuid(one.get(0).asText().hashCode(), id + 1));
            for (JsonNode partition : one.get(3)) {
                topic.partitions().add(new MetadataResponseData.MetadataResponsePartition()
                        .setPartitionIndex(partition.get(0).asInt())
                        .setLeaderId(partition.get(1).asInt())
                        .setLeaderEpoch(partition.get(2).asInt())
                        .setErrorCode((short) partition.get(3).asInt()));
            }
            data.topics().add(topic);
        }
        return data;
    }

    @Override
    protected void addTopic(String topic) {
        metadata.add(topic, time.milliseconds());
    }

    @Override
    protected int requestUpdate() {
        return metadata.requestUpdate(false);
    }

    @Override
    protected int requestUpdateForTopic(String topic) {
        return metadata.requestUpdateForTopic(topic);
    }

    @Override
    protected void failedUpdate() {
        metadata.failedUpdate(time.milliseconds());
    }

    @Override
    protected void ask(ArrayNode told) {
        asked = metadata.newMetadataRequestAndVersion(time.milliseconds());
        ArrayNode topics = told.addArray();
        ((MetadataRequest) asked.requestBuilder.build()).topics().forEach(topics::add);
        told.add(asked.isPartialUpdate);
    }

    @Override
    protected void answerAsked(JsonNode spec) {
        if (asked != null && !spec.get("brokers").isEmpty()) {
            RequestHeader header = new RequestHeader(ApiKeys.METADATA, (short) spec.get("version").asInt(), "client", 0);
            MetadataResponse response = (MetadataResponse) AbstractResponse.parseResponse(answer(header, spec), header);
            metadata.update(asked.requestVersion, response, asked.isPartialUpdate, time.milliseconds());
        }
    }

    @Override
    protected void leaders(JsonNode command, ArrayNode told) {
        Map<TopicPartition, Metadata.LeaderIdAndEpoch> leaders = new LinkedHashMap<>();
        for (JsonNode one : command.get("leaders")) {
            leaders.put(
                    new TopicPartition(one.get(0).asText(), one.get(1).asInt()),
                    new Metadata.LeaderIdAndEpoch(
                            Optional.of(one.get(2).asInt()).filter(id -> id >= 0), Optional.of(one.get(3).asInt()).filter(epoch -> epoch >= 0)));
        }
        List<Node> nodes = new ArrayList<>();
        command.get("brokers").forEach(one -> nodes.add(node(one)));
        TreeSet<String> updated = new TreeSet<>();
        metadata.updatePartitionLeadership(leaders, nodes).forEach(partition -> updated.add(partition.toString()));
        updated.forEach(told::add);
    }

    @Override
    protected String topicError(String topic) {
        try {
            metadata.maybeThrowExceptionForTopic(topic);
            return "none";
        } catch (KafkaException error) {
            return error.getClass().getSimpleName();
        }
    }

    @Override
    protected void tellMetadata(ArrayNode told) {
        told.add(metadata.updateVersion()).add(metadata.updateRequested()).add(metadata.timeToNextUpdate(time.milliseconds()));
    }

    @Override
    protected Cluster cluster() {
        return metadata.fetch();
    }

    @Override
    protected Node leastLoaded() {
        return client.leastLoadedNode(time.milliseconds()).node();
    }

    @Override
    protected boolean timedOut(ClientResponse response) {
        return response.wasTimedOut();
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
        public void send(NetworkSend send) {
            wires.send(send.destinationId(), send);
        }

        @Override
        public void poll(long timeoutMs) throws IOException {
            wires.poll(timeoutMs, send -> {
                NetworkSend whole = (NetworkSend) send;
                try (ByteBufferChannel nowhere = new ByteBufferChannel(whole.size())) {
                    while (!whole.completed()) {
                        whole.writeTo(nowhere);
                    }
                }
            });
        }

        @Override
        public List<NetworkSend> completedSends() {
            List<NetworkSend> found = new ArrayList<>();
            wires.completedSends.forEach(send -> found.add((NetworkSend) send));
            return found;
        }

        @Override
        public Collection<NetworkReceive> completedReceives() {
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
