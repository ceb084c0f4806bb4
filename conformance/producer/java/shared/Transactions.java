package org.apache.kafka.clients.producer.internals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** The calls of an application that has transactions, and what became of them. */
final class Transactions {
    private final Subject subject;
    private final List<TransactionalRequestResult> results = new ArrayList<>();
    private final List<Boolean> areInits = new ArrayList<>();
    private final List<Boolean> areTold = new ArrayList<>();

    Transactions(Subject subject) {
        this.subject = subject;
    }

    /** Each state, and those from which it may be entered. */
    static void transitions(ArrayNode told) {
        try {
            Class<?> state = Class.forName(TransactionManager.class.getName() + "$State");
            Method isValid = state.getDeclaredMethod("isTransitionValid", state, state);
            isValid.setAccessible(true);
            for (Object target : state.getEnumConstants()) {
                ArrayNode sources = told.addArray().add(target.toString()).addArray();
                for (Object source : state.getEnumConstants()) {
                    if ((Boolean) isValid.invoke(source, source, target)) {
                        sources.add(source.toString());
                    }
                }
            }
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    void play(JsonNode command, ArrayNode told) {
        TransactionManager manager = subject.manager();
        try {
            switch (command.get("op").asText()) {
                case "init" -> remember(subject.initialize(), true, told);
                case "begin" -> manager.beginTransaction();
                case "commit" -> remember(manager.beginCommit(), false, told);
                case "abort" -> remember(manager.beginAbort(), false, told);
                case "offsets" -> remember(subject.commitOffsets(offsets(command), "g"), false, told);
                case "await" -> await(command, told);
                default -> throw new IllegalArgumentException(command.toString());
            }
        } catch (RuntimeException error) {
            subject.events.addObject().put("threw", Subject.name(error)).put("text", Subject.text(error));
        }
    }

    private static Map<TopicPartition, OffsetAndMetadata> offsets(JsonNode command) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        command.get("offsets").forEach(one ->
                offsets.put(new TopicPartition("in", one.get(0).asInt()), new OffsetAndMetadata(one.get(1).asLong())));
        return offsets;
    }

    private void remember(TransactionalRequestResult result, boolean isInit, ArrayNode told) {
        if (!results.contains(result)) {
            results.add(result);
            areInits.add(isInit);
            areTold.add(false);
        }
        told.add(results.indexOf(result));
    }

    private void await(JsonNode command, ArrayNode told) {
        int at = results.size() - 1 - command.get("which").asInt();
        if (at < 0 || !results.get(at).isCompleted()) {
            told.add("waits");
            return;
        }
        subject.acknowledge(results.get(at), areInits.get(at));
    }

    void tell(ObjectNode answer) {
        for (int at = 0; at < results.size(); at++) {
            TransactionalRequestResult result = results.get(at);
            if (!areTold.get(at) && result.isCompleted()) {
                areTold.set(at, true);
                RuntimeException error = result.error();
                ObjectNode told = subject.events.addObject().put("done", at);
                told.put("error", error == null ? "" : Subject.name(error)).put("text", error == null ? "" : Subject.text(error));
            }
        }
        TransactionManager manager = subject.manager();
        Object producer = Subject.get(manager, "producerIdAndEpoch");
        RuntimeException error = manager.lastError();
        answer.putArray("manager")
                .add(String.valueOf(Subject.get(manager, "currentState")))
                .add(((Number) Subject.get(producer, "producerId")).longValue())
                .add(((Number) Subject.get(producer, "epoch")).intValue())
                .add(error == null ? "" : Subject.name(error))
                .add(((Number) Subject.get(manager, "inFlightRequestCorrelationId")).intValue() != -1)
                .add(((Collection<?>) Subject.get(manager, "pendingRequests")).size())
                .add(manager.hasUnresolvedSequences())
                .add(subject.time.milliseconds() - Subject.START_MS);
    }
}
