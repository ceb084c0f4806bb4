import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.utils.internals.AppInfoParser;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * What Apache Kafka itself says of its settings, for test_tables.py:
 * java -cp 'FOLDER/*' tests/core/config/DumpConfigs.java > tests/core/config/kafka_configs.json
 * where FOLDER has Kafka's jars (conformance/kafka_box.py fetches them).
 */
public class DumpConfigs {
    public static void main(String[] args) {
        Map<String, String> modes = DynamicBrokerConfig.dynamicConfigUpdateModes();
        List<String> brokers = new ArrayList<>();
        for (ConfigDef.ConfigKey key : new TreeMap<>(AbstractKafkaConfig.CONFIG_DEF.configKeys()).values())
            brokers.add(row(key) + ", " + text(modes.getOrDefault(key.name, "read-only")) + "]");
        List<String> topics = new ArrayList<>();
        for (ConfigDef.ConfigKey key : new TreeMap<>(LogConfig.configDefCopy().configKeys()).values())
            topics.add(row(key) + "]");
        List<String> ranges = new ArrayList<>();
        ranges("brokers", AbstractKafkaConfig.CONFIG_DEF, ranges);
        ranges("topics", LogConfig.configDefCopy(), ranges);
        List<String> synonyms = new ArrayList<>();
        new TreeMap<>(ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS).forEach((topic, names) -> {
            StringBuilder line = new StringBuilder("[" + text(topic));
            for (ConfigSynonym name : names)
                line.append(", ").append(text(name.name()));
            synonyms.add(line.append("]").toString());
        });
        System.out.println("{\n\"kafka\": " + text(AppInfoParser.getVersion()) + ",");
        System.out.println("\"brokers\": [\n" + String.join(",\n", brokers) + "\n],");
        System.out.println("\"topics\": [\n" + String.join(",\n", topics) + "\n],");
        System.out.println("\"synonyms\": [\n" + String.join(",\n", synonyms) + "\n],");
        System.out.println("\"ranges\": [\n" + String.join(",\n", ranges) + "\n]\n}");
    }

    private static void ranges(String kind, ConfigDef definition, List<String> rows) {
        for (ConfigDef.ConfigKey key : new TreeMap<>(definition.configKeys()).values())
            if (key.validator != null && List.of(ConfigDef.Type.SHORT, ConfigDef.Type.INT, ConfigDef.Type.LONG,
                    ConfigDef.Type.DOUBLE).contains(key.type)) {
                String range = key.validator instanceof ConfigDef.Range ? key.validator.toString() : null;
                rows.add("[" + text(kind) + ", " + text(key.name) + ", " + text(range) + "]");
            }
    }

    private static String row(ConfigDef.ConfigKey key) {
        String value = key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null;
        return "[" + text(key.name) + ", " + text(key.type.toString()) + ", " + text(value);
    }

    private static String text(String value) {
        return value == null ? "null" : "\"" + value.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }
}
