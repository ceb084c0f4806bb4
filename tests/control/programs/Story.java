import java.time.Duration;
import java.util.List;
import java.util.Map;

/** What each helper can do, against a cluster with a manual clock that runs already. The test produces when it is told to. */
public final class Story {
    public static void main(String[] arguments) throws Exception {
        Fakebroker kafka = Fakebroker.connect(arguments[0], null);
        kafka.createTopic("t", Map.of("replication_factor", 3));
        kafka.freeze("t");
        System.out.println("frozen");
        kafka.waitForParked(Map.of("api", "Produce", "topic", "t"));
        must(kafka.advanceToNextDeadline().equals(Duration.ofSeconds(30)), "30 s");
        kafka.expect(Map.of("topic", "t", "error", "REQUEST_TIMED_OUT", "count", 1));
        try {
            kafka.expect(Map.of("topic", "t", "error", "NONE"));
            throw new IllegalStateException("it was not NONE");
        } catch (AssertionError error) {
            must(error.getMessage().startsWith("expected at least 1 answered NONE, found 0 of 1"), error.getMessage());
        }
        try {
            kafka.createTopic("t", Map.of());
            throw new IllegalStateException("it exists");
        } catch (Fakebroker.Refused refused) {
            must(refused.status == 409 && refused.code.equals("TOPIC_ALREADY_EXISTS"), refused.code);
        }
        kafka.advance(Duration.ofMillis(5));
        must(kafka.ask("GET", "/clock", null).get("elapsed_ms").equals(30_005L), "30.005 s");
        kafka.moveLeader("t", 0, 2);
        kafka.broker(3, "stop");
        kafka.broker(3, "start");

        Fakebroker.Fault lost = kafka.fault(Map.of("when", Map.of("api", "Produce", "at", "after_append"), "do", "disconnect"));
        Fakebroker.Fault barrier = kafka.hold(Map.of("api", "Produce"));
        System.out.println("held");
        barrier.waitFor(Map.of("held", 1));
        barrier.release();
        lost.waitFor(Map.of("hits", 1));
        lost.remove();
        barrier.remove();

        try (Fakebroker other = kafka.newCluster(Map.of("brokers", 1, "topics", List.of(Map.of("name", "mine"))))) {
            must(!other.bootstrapServers().equals(kafka.bootstrapServers()), "another");
            other.deleteTopic("mine");
        }

        kafka.reset();
        must(kafka.cluster().get("topics").equals(0L), "no topics");

        try (Fakebroker own = Fakebroker.start("--topic", "mine")) {
            own.ask("GET", "/topics/mine", null);
        }
        try {
            Fakebroker.start("--brokers", "0");
            throw new IllegalStateException("it started");
        } catch (java.io.IOException error) {
            must(error.getMessage().contains("status 2: fakebroker: --brokers"), error.getMessage());
        }
        System.out.println("done");
    }

    private static void must(boolean is, String what) {
        if (!is) {
            throw new IllegalStateException(what);
        }
    }
}
