package org.apache.kafka.clients.producer.internals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
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
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.requests.TxnOffsetCommitRequest;
import org.apache.kafka.common.requests.TxnOffsetCommitResponse;

/** What a transaction manager of 2.0 asks, and its answers. */
final class Answers {
    private static final Comparator<TopicPartition> ORDER =
            Comparator.comparing(TopicPartition::topic).thenComparingInt(TopicPartition::partition);

    private Answers() {}

    static void describe(AbstractRequest request, ArrayNode told) {
        if (request instanceof InitProducerIdRequest) {
            InitProducerIdRequest asked = (InitProducerIdRequest) request;
            told.add("InitProducerId").add(asked.transactionalId() == null ? "" : asked.transactionalId());
            told.add(((Number) Subject.get(asked, "transactionTimeoutMs")).intValue()).add(-1).add(-1);
        } else if (request instanceof AddPartitionsToTxnRequest) {
            AddPartitionsToTxnRequest asked = (AddPartitionsToTxnRequest) request;
            told.add("AddPartitionsToTxn").add(asked.producerId()).add(asked.producerEpoch());
            asked.partitions().stream().sorted(ORDER).forEach(one -> told.add(one.toString()));
        } else if (request instanceof AddOffsetsToTxnRequest) {
            AddOffsetsToTxnRequest asked = (AddOffsetsToTxnRequest) request;
            told.add("AddOffsetsToTxn").add(asked.producerId()).add(asked.producerEpoch()).add(asked.consumerGroupId());
        } else if (request instanceof TxnOffsetCommitRequest) {
            TxnOffsetCommitRequest asked = (TxnOffsetCommitRequest) request;
            told.add("TxnOffsetCommit").add(asked.producerId()).add(asked.producerEpoch()).add(asked.consumerGroupId()).add(false);
            Map<TopicPartition, TxnOffsetCommitRequest.CommittedOffset> sorted = new TreeMap<>(ORDER);
            sorted.putAll(asked.offsets());
            sorted.forEach((one, offset) -> told.add(one.toString()).add(((Number) Subject.get(offset, "offset")).longValue()));
        } else if (request instanceof EndTxnRequest) {
            EndTxnRequest asked = (EndTxnRequest) request;
            told.add("EndTxn").add(asked.producerId()).add(asked.producerEpoch()).add(asked.command() == TransactionResult.COMMIT).add(false);
        } else {
            FindCoordinatorRequest asked = (FindCoordinatorRequest) request;
            told.add("FindCoordinator").add(asked.coordinatorType().name()).add(asked.coordinatorKey());
        }
    }

    static AbstractResponse to(AbstractRequest request, JsonNode command, Subject subject) {
        JsonNode codes = command.get("txn_errors");
        Errors error = Errors.forCode((short) codes.get(0).asInt());
        if (request instanceof InitProducerIdRequest) {
            return subject.producerId(codes.get(0).asInt(), command.get("id").asLong(), (short) command.get("epoch").asInt());
        } else if (request instanceof AddPartitionsToTxnRequest) {
            return new AddPartitionsToTxnResponse(0, errors(((AddPartitionsToTxnRequest) request).partitions(), codes));
        } else if (request instanceof AddOffsetsToTxnRequest) {
            return new AddOffsetsToTxnResponse(0, error);
        } else if (request instanceof TxnOffsetCommitRequest) {
            return new TxnOffsetCommitResponse(0, errors(((TxnOffsetCommitRequest) request).offsets().keySet(), codes));
        } else if (request instanceof EndTxnRequest) {
            return new EndTxnResponse(0, error);
        }
        return new FindCoordinatorResponse(error, Subject.node(command.get("node").asInt()));
    }

    private static Map<TopicPartition, Errors> errors(Collection<TopicPartition> partitions, JsonNode codes) {
        Map<TopicPartition, Errors> errors = new HashMap<>();
        int at = 0;
        for (TopicPartition one : partitions.stream().sorted(ORDER).collect(Collectors.toList())) {
            errors.put(one, Errors.forCode((short) codes.get(at++ % codes.size()).asInt()));
        }
        return errors;
    }
}
