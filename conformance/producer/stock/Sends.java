import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Sends what it reads: a line is a topic, a partition or -1 for none, a key and a size. A key that begins with "-" is
 * a name only: the record has none. Says what each was called back with, and, if
 * asked for it by --calls, how long `send` took or what it threw. With --times a callback also says how many
 * milliseconds after `send` it came, and by how many a thread that only sleeps was late at most since then. The
 * callback of a key that begins with "slow" takes two seconds.
 */
public class Sends {
    private static final int SLEEP_MS = 5;
    private static boolean tellsTimes = false;
    private static volatile double lateMs = 0;

    public static void main(String[] settings) throws Exception {
        Properties properties = new Properties();
        boolean tellsCalls = false;
        for (String setting : settings) {
            if (setting.equals("--calls")) {
                tellsCalls = true;
                continue;
            }
            if (setting.equals("--times")) {
                tellsTimes = true;
                Thread sleeper = new Thread(Sends::measureLateness);
                sleeper.setDaemon(true);
                sleeper.start();
                continue;
            }
            String[] parts = setting.split("=", 2);
            properties.put(parts[0], parts[1]);
        }
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ");
                byte[] value = new byte[Integer.parseInt(words[3])];
                Integer partition = words[1].equals("-1") ? null : Integer.valueOf(words[1]);
                byte[] key = words[2].startsWith("-") ? null : words[2].getBytes();
                lateMs = 0;
                long began = System.nanoTime();
                String thrown = "";
                try {
                    producer.send(
                        new ProducerRecord<>(words[0], partition, key, value),
                        (metadata, error) -> tell(words[2], began, error == null ? "offset " + metadata.offset() : told(error)));
                } catch (KafkaException error) {
                    thrown = " " + told(error);
                }
                if (tellsCalls) {
                    System.out.println(words[2] + " call " + (System.nanoTime() - began) / 1_000_000 + thrown);
                }
            }
        }
    }

    private static void measureLateness() {
        while (true) {
            long due = System.nanoTime() + SLEEP_MS * 1_000_000L;
            sleep(SLEEP_MS);
            lateMs = Math.max(lateMs, (System.nanoTime() - due) / 1e6);
        }
    }

    private static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    private static void tell(String key, long began, String what) {
        String times = tellsTimes ? " " + (System.nanoTime() - began) / 1e6 + " " + lateMs : "";
        System.out.println(key + times + " " + what);
        if (key.startsWith("slow")) {
            sleep(2_000);
        }
    }

    private static String told(Exception error) {
        return error.getClass().getSimpleName() + ": " + error.getMessage();
    }
}
