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
 * asked for it by --calls, how long `send` took or what it threw. The callback of a key that begins with "slow" takes
 * two seconds.
 */
public class Sends {
    public static void main(String[] settings) throws Exception {
        Properties properties = new Properties();
        boolean tellsCalls = false;
        for (String setting : settings) {
            if (setting.equals("--calls")) {
                tellsCalls = true;
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
                long began = System.nanoTime();
                String thrown = "";
                try {
                    producer.send(
                        new ProducerRecord<>(words[0], partition, key, value),
                        (metadata, error) -> tell(words[2], error == null ? "offset " + metadata.offset() : told(error)));
                } catch (KafkaException error) {
                    thrown = " " + told(error);
                }
                if (tellsCalls) {
                    System.out.println(words[2] + " call " + (System.nanoTime() - began) / 1_000_000 + thrown);
                }
            }
        }
    }

    private static void tell(String key, String what) {
        System.out.println(key + " " + what);
        if (key.startsWith("slow")) {
            try {
                Thread.sleep(2_000);
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    private static String told(Exception error) {
        return error.getClass().getSimpleName() + ": " + error.getMessage();
    }
}
