package org.apache.kafka.clients.producer.internals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.AddOffsetsToTxnResponseData;
import org.apache.kafka.common.message.AddPartitionsToTxnRequestData;
import org.apache.kafka.common.message.AddPartitionsToTxnResponseData;
import org.apache.kafka.common.message.EndTxnRequestData;
import org.apache.kafka.common.message.EndTxnResponseData;
import org.apache.kafka.common.message.FindCoordinatorResponseData;
import org.apache.kafka.common.message.InitProducerIdRequestData;
import org.apache.kafka.common.message.InitProducerIdResponseData;
import org.apache.kafka.common.message.TxnOffsetCommitResponseData;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.AddOffsetsToTxnRequest;
import org.apache.kafka.common.requests.AddOffsetsToTxnResponse;
import org.apache.kafka.common.requests.AddPartitionsToTxnRequest;
import org.apache.kafka.common.requests.AddPartitionsToTxnResponse;
import org.apache.kafka.common.requests.EndTxnRequest;
import org.apache.kafka.common.requests.EndTxnResponse;
import org.apache.kafka.common.requests.FindCoordinatorRequest;
import org.apache.kafka.common.requests.FindCoordinatorResponse;
import org.apache.kafka.common.requests.InitProducerIdRequest;
import org.apache.kafka.common.requests.InitProducerIdResponse;
import org.apache.kafka.common.requests.TxnOffsetCommitRequest;
import org.apache.kafka.common.requests.TxnOffsetCommitResponse;

/** What a transaction manager of 4.3 asks, and its answers. */
final class Answers {
    private static final Comparator<TopicPartition> ORDER =
            Comparator.comparing(TopicPartition::topic).thenComparingInt(TopicPartition::partition);
    private static final int FIRST_OF_V2 = 5; // of EndTxn and TxnOffsetCommit

    private Answers() {}

    static void describe(AbstractRequest request, ArrayNode told) {
        if (request instanceof InitProducerIdRequest asked) {
            InitProducerIdRequestData data = asked.data();
            told.add("InitProducerId").add(data.transactionalId() == null ? "" : data.transactionalId());
            told.add(data.transactionTimeoutMs()).add(data.producerId()).add(data.producerEpoch());
        } else if (request instanceof AddPartitionsToTxnRequest asked) {
            told.add("AddPartitionsToTxn").add(asked.data().v3AndBelowProducerId()).add(asked.data().v3AndBelowProducerEpoch());
            partitions(asked).forEach(one -> told.add(one.toString()));
        } else if (request instanceof AddOffsetsToTxnRequest asked) {
            told.add("AddOffsetsToTxn").add(asked.data().producerId()).add(asked.data().producerEpoch()).add(asked.data().groupId());
        } else if (request instanceof TxnOffsetCommitRequest asked) {
            told.add("TxnOffsetCommit").add(asked.data().producerId()).add(asked.data().producerEpoch()).add(asked.data().groupId());
            told.add(asked.version() >= FIRST_OF_V2);
            Map<TopicPartition, TxnOffsetCommitRequest.CommittedOffset> sorted = new TreeMap<>(ORDER);
            sorted.putAll(asked.offsets());
            sorted.forEach((one, offset) -> told.add(one.toString()).add(((Number) Subject.get(offset, "offset")).longValue()));
        } else if (request instanceof EndTxnRequest asked) {
            EndTxnRequestData data = asked.data();
            told.add("EndTxn").add(data.producerId()).add(data.producerEpoch()).add(data.committed()).add(asked.version() >= FIRST_OF_V2);
        } else {
            FindCoordinatorRequest asked = (FindCoordinatorRequest) request;
            told.add("FindCoordinator");
            told.add(FindCoordinatorRequest.CoordinatorType.forId(asked.data().keyType()).name()).add(key(asked));
        }
    }

    private static String key(FindCoordinatorRequest asked) {
        return asked.data().coordinatorKeys().isEmpty() ? asked.data().key() : asked.data().coordinatorKeys().get(0);
    }

    private static List<TopicPartition> partitions(AddPartitionsToTxnRequest asked) {
        List<TopicPartition> found = new ArrayList<>();
        for (AddPartitionsToTxnRequestData.AddPartitionsToTxnTopic topic : asked.data().v3AndBelowTopics()) {
            topic.partitions().forEach(index -> found.add(new TopicPartition(topic.name(), index)));
        }
        found.sort(ORDER);
        return found;
    }

    static AbstractResponse producerId(int code, long producerId, short epoch) {
        InitProducerIdResponseData data = new InitProducerIdResponseData().setErrorCode((short) code);
        return new InitProducerIdResponse(code == 0 ? data.setProducerId(producerId).setProducerEpoch(epoch) : data);
    }

    static AbstractResponse to(AbstractRequest request, JsonNode command) {
        JsonNode codes = command.get("txn_errors");
        short code = (short) codes.get(0).asInt();
        long id = command.get("id").asLong();
        short epoch = (short) command.get("epoch").asInt();
        if (request instanceof InitProducerIdRequest) {
            return producerId(code, id, epoch);
        } else if (request instanceof AddPartitionsToTxnRequest asked) {
            AddPartitionsToTxnResponseData data = new AddPartitionsToTxnResponseData();
            int at = 0;
            for (TopicPartition one : partitions(asked)) {
                AddPartitionsToTxnResponseData.AddPartitionsToTxnTopicResult topic = data.resultsByTopicV3AndBelow().find(one.topic());
                if (topic == null) {
                    topic = new AddPartitionsToTxnResponseData.AddPartitionsToTxnTopicResult().setName(one.topic());
                    data.resultsByTopicV3AndBelow().add(topic);
                }
                topic.resultsByPartition().add(new AddPartitionsToTxnResponseData.AddPartitionsToTxnPartitionResult()
                        .setPartitionIndex(one.partition())
                        .setPartitionErrorCode((short) codes.get(at++ % codes.size()).asInt()));
            }
            return new AddPartitionsToTxnResponse(data);
        } else if (request instanceof AddOffsetsToTxnRequest) {
            return new AddOffsetsToTxnResponse(new AddOffsetsToTxnResponseData().setErrorCode(code));
        } else if (request instanceof TxnOffsetCommitRequest asked) {
            TxnOffsetCommitResponseData.TxnOffsetCommitResponseTopic topic =
                    new TxnOffsetCommitResponseData.TxnOffsetCommitResponseTopic().setName("in");
            int at = 0;
            for (TopicPartition one : asked.offsets().keySet().stream().sorted(ORDER).toList()) {
                topic.partitions().add(new TxnOffsetCommitResponseData.TxnOffsetCommitResponsePartition()
                        .setPartitionIndex(one.partition())
                        .setErrorCode((short) codes.get(at++ % codes.size()).asInt()));
            }
            return new TxnOffsetCommitResponse(new TxnOffsetCommitResponseData().setTopics(List.of(topic)));
        } else if (request instanceof EndTxnRequest asked) {
            EndTxnResponseData data = new EndTxnResponseData().setErrorCode(code);
            boolean bumps = code == 0 && asked.version() >= FIRST_OF_V2;
            return new EndTxnResponse(bumps ? data.setProducerId(id).setProducerEpoch(epoch) : data);
        }
        FindCoordinatorRequest asked = (FindCoordinatorRequest) request;
        FindCoordinatorResponseData.Coordinator found = new FindCoordinatorResponseData.Coordinator()
                .setKey(key(asked))
                .setErrorCode(code)
                .setNodeId(command.get("node").asInt())
                .setHost("host")
                .setPort(9092 + command.get("node").asInt());
        return new FindCoordinatorResponse(new FindCoordinatorResponseData().setCoordinators(List.of(found)));
    }
}
