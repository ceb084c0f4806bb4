package org.apache.kafka.clients;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.network.Send;

/** The real InFlightRequests, of requests that are numbers. */
public final class Flights {
    private final InFlightRequests requests;
    private final Map<NetworkClient.InFlightRequest, Integer> ids = new IdentityHashMap<>();
    private final List<NetworkClient.InFlightRequest> unwritten = new ArrayList<>();

    public Flights(int most) {
        requests = new InFlightRequests(most);
    }

    public void play(JsonNode command, long now, ArrayNode told) {
        String node = command.get("node").asText();
        switch (command.get("op").asText()) {
            case "add" -> add(command, node, now);
            case "written" -> {
                if (!requests.isEmpty(node)) {
                    unwritten.remove(requests.lastSent(node));
                }
            }
            case "next" -> told.add(requests.isEmpty(node) ? -1 : ids.get(requests.completeNext(node)));
            case "last" -> told.add(requests.isEmpty(node) ? -1 : ids.get(requests.completeLastSent(node)));
            case "clear" -> requests.clearAll(node).forEach(request -> told.add(ids.get(request)));
            case "throttle" -> throttle(node, command.get("ms").asLong());
            default -> { }
        }
        told.add(requests.canSendMore(node)).add(requests.count(node)).add(requests.count());
        ArrayNode late = told.addArray();
        requests.nodesWithTimedOutRequests(now).forEach(late::add);
    }

    private void add(JsonNode command, String node, long now) {
        NetworkClient.InFlightRequest[] made = new NetworkClient.InFlightRequest[1];
        Send send = (Send) Proxy.newProxyInstance(Send.class.getClassLoader(), new Class<?>[] {Send.class}, (proxy, method, arguments) ->
                method.getName().equals("completed") ? !unwritten.contains(made[0]) : null);
        made[0] = new NetworkClient.InFlightRequest(
                null, command.get("timeout_ms").asInt(), now, node, null, true, false, null, send, now);
        ids.put(made[0], command.get("id").asInt());
        unwritten.add(made[0]);
        requests.add(made[0]);
    }

    /** Since KIP-219 the client knows that it is throttled; before, this is nothing. */
    private void throttle(String node, long ms) {
        try {
            InFlightRequests.class.getDeclaredMethod("incrementThrottleTime", String.class, long.class).invoke(requests, node, ms);
        } catch (NoSuchMethodException e) {
            // 2.0
        } catch (IllegalAccessException | InvocationTargetException e) {
            throw new IllegalStateException(e);
        }
    }
}
