import java.util.HashMap;
import java.util.Map;

final class SecuredSettings {
    private static final String ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls";

    /** Adds the settings of the application. Kafka 4 has to be allowed to read the file with a token. */
    static Map<String, Object> with(Map<String, Object> settings, Map<String, Object> own) {
        Object tokenFile = settings.get("sasl.oauthbearer.token.endpoint.url");
        if (tokenFile != null) System.setProperty(ALLOWED_URLS, tokenFile.toString());
        var all = new HashMap<>(settings);
        all.putAll(own);
        return all;
    }
}
