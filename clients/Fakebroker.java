import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The HTTP control of fakebroker, in one file of the standard library (Java 17 or later).
 *
 * <pre>{@code
 * try (Fakebroker kafka = Fakebroker.start("--clock", "manual", "--topic", "orders")) { // or connect(url, token)
 *     ... a client of kafka.bootstrapServers() ...
 *     kafka.freeze("orders");
 *     kafka.waitForParked(Map.of("api", "Produce"));
 *     kafka.advance(Duration.ofSeconds(30));
 *     kafka.expect(Map.of("topic", "orders", "error", "REQUEST_TIMED_OUT"));
 * }
 * }</pre>
 *
 * Bodies and responses are those of docs/http.md, as maps. A refused request throws {@link Refused}.
 */
public final class Fakebroker implements AutoCloseable {
    private static final Duration START_LIMIT = Duration.ofSeconds(20);
    private static final int WAIT_MS = 10_000; // of the machine's clock, the limit of each wait

    /** The error response of the control. */
    public static final class Refused extends RuntimeException {
        public final int status;
        public final String code;

        Refused(int status, Map<?, ?> error) {
            super(String.valueOf(error.get("message")));
            this.status = status;
            this.code = String.valueOf(error.get("code"));
        }
    }

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final String url;
    private final String token;
    private final String prefix;
    private Process process;
    private Fakebroker owner;
    private final String bootstrapServers;

    private Fakebroker(String url, String token, String prefix) {
        this.url = url.replaceAll("/$", "");
        this.token = token;
        this.prefix = prefix;
        this.bootstrapServers = (String) cluster().get("bootstrap_servers");
    }

    /**
     * Runs {@code fakebroker serve} on free ports, with these options added. FAKEBROKER in the environment names
     * another command, as in FAKEBROKER="python -m fakebroker". It ends with {@code close()}, and with this process,
     * also if that is killed: its stdin is a pipe from here.
     */
    public static Fakebroker start(String... options) throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("fakebroker-");
        Path file = folder.resolve("ready.json");
        Path told = folder.resolve("told");
        List<String> command = new ArrayList<>(List.of(System.getenv().getOrDefault("FAKEBROKER", "fakebroker").split(" ")));
        command.addAll(List.of("serve", "--exit-with-parent", "--port", "0", "--control-port", "0", "--ready-file", file.toString()));
        command.addAll(List.of(options));
        Process process = new ProcessBuilder(command).redirectError(told.toFile())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        try {
            long end = System.nanoTime() + START_LIMIT.toNanos();
            while (!Files.exists(file)) {
                if (!process.isAlive()) {
                    throw new IOException("it ended with status " + process.exitValue() + ": " + Files.readString(told).trim());
                }
                if (System.nanoTime() > end) {
                    throw new IOException("it was not ready within " + START_LIMIT);
                }
                Thread.sleep(10);
            }
            Map<?, ?> facts = (Map<?, ?>) new Json(Files.readString(file)).read();
            Fakebroker kafka = connect((String) facts.get("control_url"), null);
            kafka.process = process;
            return kafka;
        } catch (IOException | InterruptedException | RuntimeException error) {
            process.destroy();
            throw error;
        } finally {
            Files.deleteIfExists(file);
            Files.deleteIfExists(told);
            Files.deleteIfExists(folder);
        }
    }

    /** Connects to a running cluster by its control_url, and its token or null. */
    public static Fakebroker connect(String url, String token) {
        return new Fakebroker(url, token, "/v1");
    }

    public String bootstrapServers() {
        return bootstrapServers;
    }

    /** Sends a request to the control. {@code path} is below /v1, as in {@code ask("PUT", "/quotas", Map.of(...))}. */
    @SuppressWarnings("unchecked")
    public Map<String, Object> ask(String method, String path, Map<String, ?> body) {
        HttpRequest.BodyPublisher content = body == null
                ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(Json.write(body));
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + prefix + path))
                .method(method, content).header("Content-Type", "application/json");
        if (token != null) {
            request.header("Authorization", "Bearer " + token);
        }
        HttpResponse<String> answer;
        try {
            answer = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } catch (IOException error) {
            throw new java.io.UncheckedIOException(error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(error);
        }
        Object found = answer.body().isEmpty() ? Map.of() : new Json(answer.body()).read();
        if (answer.statusCode() >= 300) {
            throw new Refused(answer.statusCode(), (Map<?, ?>) ((Map<?, ?>) found).get("error"));
        }
        return (Map<String, Object>) found;
    }

    public Map<String, Object> cluster() {
        return ask("GET", "/cluster", null);
    }

    /** Resets the cluster to its state at the start, on the same ports. */
    public void reset() {
        ask("POST", "/reset", null);
    }

    /** Creates a topic. {@code more} replaces defaults, as in {@code Map.of("partitions", 3)}. */
    public void createTopic(String name, Map<String, ?> more) {
        ask("POST", "/topics", with(more, "name", name));
    }

    public void deleteTopic(String name) {
        ask("DELETE", "/topics/" + encoded(name), null);
    }

    /** Sets what followers do, as in {@code Map.of("behaviour", "lagging", "lag_ms", 200, "topic", "orders")}. */
    public void followers(Map<String, ?> body) {
        ask("PUT", "/followers", body);
    }

    public void freeze(String topic) {
        followers(Map.of("behaviour", "frozen", "topic", topic));
    }

    public void resume(String topic) {
        followers(Map.of("behaviour", "resume", "topic", topic));
    }

    /** Stops, starts or otherwise changes a broker. docs/http.md lists the actions. */
    public void broker(int id, String action) {
        ask("POST", "/brokers/" + id + "/" + action, null);
    }

    public void moveLeader(String topic, int partition, int broker) {
        ask("PUT", "/partitions/" + encoded(topic) + "/" + partition + "/leader", Map.of("broker", broker));
    }

    /** Advances the clock of the cluster. On return all due responses are written. */
    public void advance(Duration by) {
        ask("POST", "/clock/advance", Map.of("ms", by.toMillis()));
    }

    /** Advances to the next deadline and returns how far that was; null if there is none. */
    public Duration advanceToNextDeadline() {
        Object ms = ask("POST", "/clock/advance", Map.of("to", "next_deadline")).get("advanced_ms");
        return ms == null ? null : Duration.ofMillis(((Number) ms).longValue());
    }

    /** Waits until so many requests that match are parked ("count", 1). */
    public void waitForParked(Map<String, ?> which) {
        Map<String, Object> found = ask("POST", "/purgatory/wait", waiting(which));
        check(found, found.get("count") + " requests wait, and not as many as were to");
    }

    /** Waits for a group, as in {@code waitForGroup("billing", Map.of("state", "Stable", "members", 2))}. */
    public void waitForGroup(String group, Map<String, ?> is) {
        Map<String, Object> found = ask("POST", "/groups/wait", waiting(with(is, "group_id", group)));
        check(found, "group " + group + ": " + found.get("reason"));
    }

    /** An installed fault. */
    public final class Fault {
        public final String id;

        Fault(String id) {
            this.id = id;
        }

        /** Waits, as in {@code waitFor(Map.of("hits", 1))} or, at a barrier, {@code waitFor(Map.of("held", 3))}. */
        public void waitFor(Map<String, ?> what) {
            Map<String, Object> found = ask("POST", "/faults/" + id + "/wait", waiting(what));
            if (!Boolean.TRUE.equals(found.get("matched"))) {
                throw new AssertionError("fault " + id + " has " + found.get("hits") + " hits and holds " + found.get("held"));
            }
        }

        /** Releases all requests that the barrier holds. */
        public void release() {
            ask("POST", "/faults/" + id + "/release", Map.of());
        }

        /** Removes the fault and releases the requests that it holds. */
        public void remove() {
            ask("DELETE", "/faults/" + id, null);
        }
    }

    /**
     * Installs a fault as in docs/faults.md: {@code Map.of("when", Map.of("api", "Produce"), "do", "disconnect")}, or
     * {@code Map.of("preset", "slow_disk", "broker", 1, "ms", 40)}.
     */
    public Fault fault(Map<String, ?> fault) {
        return new Fault((String) ask("POST", "/faults", fault).get("id"));
    }

    /** A barrier: requests that match wait until they are released. */
    public Fault hold(Map<String, ?> when) {
        return fault(Map.of("when", when, "do", "hold", "times", "every_time"));
    }

    /** Throws AssertionError with what was found, unless Produce requests got this response. "timeout_ms" waits. */
    public void expect(Map<String, ?> what) {
        Map<String, Object> found = ask("POST", "/journal/expect", what);
        check(found, String.valueOf(found.get("reason")));
    }

    /** Creates another cluster in the same process. It ends with its lease. */
    public Fakebroker newCluster(Map<String, ?> options) {
        String id = (String) ask("POST", "/clusters", options).get("id");
        Fakebroker made = new Fakebroker(url, token, "/v1/clusters/" + id);
        made.owner = this;
        return made;
    }

    /** Ends a started process or deletes a created cluster. A connected cluster goes on. */
    @Override
    public void close() {
        if (owner != null) {
            owner.ask("DELETE", prefix.substring("/v1".length()), null);
        } else if (process != null) {
            process.destroy();
            try {
                process.waitFor(10, TimeUnit.SECONDS);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static void check(Map<String, Object> found, String otherwise) {
        if (!Boolean.TRUE.equals(found.get("matches"))) {
            throw new AssertionError(otherwise);
        }
    }

    private static Map<String, Object> waiting(Map<String, ?> body) {
        Map<String, Object> all = new HashMap<>(Map.of("timeout_wall_ms", WAIT_MS));
        all.putAll(body);
        return all;
    }

    private static Map<String, Object> with(Map<String, ?> body, String name, Object value) {
        Map<String, Object> all = new HashMap<>(body);
        all.put(name, value);
        return all;
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** The part of JSON that is needed: maps, lists, strings, numbers (long or double), booleans, null. */
    private static final class Json {
        private final String text;
        private int at;

        Json(String text) {
            this.text = text;
        }

        Object read() {
            char next = next();
            switch (next) {
                case '{': {
                    Map<String, Object> found = new LinkedHashMap<>();
                    at++;
                    while (next() != '}') {
                        String name = string();
                        next();
                        at++; // the colon
                        found.put(name, read());
                        if (next() == ',') {
                            at++;
                        }
                    }
                    at++;
                    return found;
                }
                case '[': {
                    List<Object> found = new ArrayList<>();
                    at++;
                    while (next() != ']') {
                        found.add(read());
                        if (next() == ',') {
                            at++;
                        }
                    }
                    at++;
                    return found;
                }
                case '"':
                    return string();
                default:
                    int begin = at;
                    while (at < text.length() && ",]} \n\r\t".indexOf(text.charAt(at)) < 0) {
                        at++;
                    }
                    String word = text.substring(begin, at);
                    return switch (word) {
                        case "true" -> true;
                        case "false" -> false;
                        case "null" -> null;
                        default -> word.matches("-?\\d+") ? (Object) Long.parseLong(word) : (Object) Double.parseDouble(word);
                    };
            }
        }

        private char next() {
            while (Character.isWhitespace(text.charAt(at))) {
                at++;
            }
            return text.charAt(at);
        }

        private String string() {
            StringBuilder found = new StringBuilder();
            for (at++; text.charAt(at) != '"'; at++) {
                char each = text.charAt(at);
                if (each != '\\') {
                    found.append(each);
                    continue;
                }
                char escaped = text.charAt(++at);
                switch (escaped) {
                    case 'n' -> found.append('\n');
                    case 't' -> found.append('\t');
                    case 'r' -> found.append('\r');
                    case 'b' -> found.append('\b');
                    case 'f' -> found.append('\f');
                    case 'u' -> {
                        found.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                        at += 4;
                    }
                    default -> found.append(escaped);
                }
            }
            at++;
            return found.toString();
        }

        static String write(Object value) {
            if (value instanceof Map<?, ?> map) {
                List<String> parts = new ArrayList<>();
                map.forEach((name, each) -> parts.add(write(name) + ":" + write(each)));
                return "{" + String.join(",", parts) + "}";
            }
            if (value instanceof Iterable<?> list) {
                List<String> parts = new ArrayList<>();
                list.forEach(each -> parts.add(write(each)));
                return "[" + String.join(",", parts) + "]";
            }
            if (value == null || value instanceof Number || value instanceof Boolean) {
                return String.valueOf(value);
            }
            StringBuilder written = new StringBuilder("\"");
            for (char each : value.toString().toCharArray()) {
                if (each == '"' || each == '\\') {
                    written.append('\\').append(each);
                } else if (each < ' ') {
                    written.append(String.format("\\u%04x", (int) each));
                } else {
                    written.append(each);
                }
            }
            return written.append('"').toString();
        }
    }
}
