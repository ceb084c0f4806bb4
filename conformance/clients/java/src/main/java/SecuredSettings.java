import java.util.HashMap;
import java.util.Map;

final class SecuredSettings {
    private static final String ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls";

    /** The settings of fakebroker and those of the application. A token is in a file, which Kafka 4 has to be allowed to read. */
    static Map<String, Object> with(Map<String, Object> settings, Map<String, Object> own) {
        Object tokenFile = settings.get("sasl.oauthbearer.token.endpoint.url");
        if (tokenFile != null) System.setProperty(ALLOWED_URLS, tokenFile.toString());
        var all = new HashMap<>(settings);
        all.putAll(own);
        return all;
    }
}
