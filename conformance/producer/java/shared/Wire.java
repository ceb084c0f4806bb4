package org.apache.kafka.clients.producer.internals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.MockClient;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.requests.AbstractResponse;

/** What the sender sends goes here; the judge answers when the sequence says so. */
abstract class Wire extends MockClient {
    final List<ClientRequest> unanswered = new ArrayList<>();
    final Map<Integer, Long> readyAtMs = new HashMap<>();
    final Set<Integer> failed = new HashSet<>();
    static final int DROPPED = -2; // in place of an error code: the connection goes
    long pollTimeoutMs;
    private final Subject subject;
    private Node awaited;
    private JsonNode turn;
    private int nodesAsked;
    private int idsAsked;

    Wire(Subject subject) {
        super(subject.time);
        this.subject = subject;
    }

    /** A turn of the sender: how often it finds no node, and what a request for a producer id is answered in it. */
    void begin(JsonNode command) {
        turn = command;
        nodesAsked = 0;
        idsAsked = 0;
        pollTimeoutMs = 0;
    }

    /** The node that is to be asked, or null. */
    Node anyNode() {
        return nodesAsked++ < turn.path("no_node").asInt(0) ? null : Subject.node(turn.path("least").asInt(1));
    }

    @Override
    public boolean ready(Node node, long now) {
        return pollDelayMs(node, now) == 0;
    }

    @Override
    public boolean isReady(Node node, long now) {
        awaited = node;
        return pollDelayMs(node, now) == 0;
    }

    @Override
    public boolean connectionFailed(Node node) {
        return failed.contains(node.id()) && pollDelayMs(node, subject.time.milliseconds()) > 0;
    }

    @Override
    public long pollDelayMs(Node node, long now) {
        return Math.max(0, readyAtMs.getOrDefault(node.id(), 0L) - now);
    }

    @Override
    public void send(ClientRequest request, long now) {
        ObjectNode told = subject.events.addObject().put("send", request.destination()).put("expects", request.expectResponse());
        if (subject.manager() != null) {
            told.put("at", request.createdTimeMs() - Subject.START_MS);
        }
        subject.describe(request, told);
        unanswered.add(request);
    }

    @Override
    public List<ClientResponse> poll(long timeoutMs, long now) {
        String caller = StackWalker.getInstance().walk(frames -> frames
                .filter(frame -> frame.getClassName().endsWith("NetworkClientUtils"))
                .map(StackWalker.StackFrame::getMethodName)
                .findFirst()
                .orElse(""));
        if (caller.equals("awaitReady")) { // until there is news of the node
            subject.time.sleep(Math.min(timeoutMs, pollDelayMs(awaited, now)));
            return new ArrayList<>();
        }
        if (caller.equals("isReady")) {
            return new ArrayList<>();
        }
        if (caller.equals("sendAndReceive")) {
            return List.of(idAnswer());
        }
        pollTimeoutMs = timeoutMs;
        for (ClientRequest request : new ArrayList<>(unanswered)) {
            if (!request.expectResponse()) { // it is answered as soon as it is written
                unanswered.remove(request);
                complete(request, false, null);
            }
        }
        return new ArrayList<>();
    }

    /** 2.0 waits for its producer id within a turn. */
    private ClientResponse idAnswer() {
        ClientRequest request = unanswered.remove(unanswered.size() - 1);
        JsonNode answer = turn.path("ids").path(idsAsked++);
        int code = answer.path(0).asInt(0);
        if (code == DROPPED) {
            return response(request, true, null);
        }
        return response(request, false, subject.producerId(code, answer.path(1).asLong(7000 + idsAsked), (short) 0));
    }

    void complete(ClientRequest request, boolean disconnected, AbstractResponse body) {
        try {
            request.callback().onComplete(response(request, disconnected, body));
        } catch (RuntimeException error) { // a network client writes it to its log
            if (subject.manager() == null) {
                throw error;
            }
            subject.events.addObject().put("uncaught", error.getClass().getSimpleName());
        }
    }

    private ClientResponse response(ClientRequest request, boolean disconnected, AbstractResponse body) {
        return new ClientResponse(
                request.makeHeader(request.requestBuilder().latestAllowedVersion()),
                request.callback(),
                request.destination(),
                request.createdTimeMs(),
                subject.time.milliseconds(),
                disconnected,
                null,
                null,
                body);
    }
}
