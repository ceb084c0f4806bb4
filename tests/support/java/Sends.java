import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Sends what it reads: a line is a topic, a partition, a key and a size. Says what each was called back with. */
public class Sends {
    public static void main(String[] settings) throws Exception {
        Properties properties = new Properties();
        for (String setting : settings) {
            String[] parts = setting.split("=", 2);
            properties.put(parts[0], parts[1]);
        }
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ");
                byte[] value = new byte[Integer.parseInt(words[3])];
                producer.send(
                    new ProducerRecord<>(words[0], Integer.parseInt(words[1]), words[2].getBytes(), value),
                    (metadata, error) -> System.out.println(words[2] + " "
                        + (error == null ? "offset " + metadata.offset()
                            : error.getClass().getSimpleName() + ": " + error.getMessage())));
            }
        }
    }
}
