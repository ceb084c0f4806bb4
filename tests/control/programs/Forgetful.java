import java.util.concurrent.CountDownLatch;

/** Starts a broker and forgets close(); "end": the program is over then, "wait": it is killed. */
public final class Forgetful {
    public static void main(String[] arguments) throws Exception {
        Fakebroker.start("--topic", "t");
        System.gc();
        System.out.println("started");
        if (arguments[0].equals("wait")) {
            new CountDownLatch(1).await();
        }
    }
}
