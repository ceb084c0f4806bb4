// The administrator: one call for each line.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;

final class Administrator {
    private final Admin admin;

    private Administrator(Admin admin) {
        this.admin = admin;
    }

    static void run(String bootstrap) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            var administrator = new Administrator(admin);
            for (String line; (line = Client.INPUT.readLine()) != null; ) {
                ObjectNode answer = Client.JSON.createObjectNode();
                try {
                    answer.set("result", Client.JSON.valueToTree(administrator.call(Client.JSON.readTree(line))));
                } catch (ExecutionException error) {
                    answer.put("error", error.getCause().getClass().getSimpleName());
                }
                Client.tell(answer);
            }
        }
    }

    private Object call(JsonNode call) throws Exception {
        return switch (call.get("call").asText()) {
            case "create_topic", "describe_topic", "list_topics", "create_partitions", "delete_topic" -> topics(call);
            case "alter_topic_configs", "describe_topic_configs", "describe_broker_configs" -> configs(call);
            case "list_offsets", "delete_records", "elect_leader", "list_reassignments" -> partitions(call);
            case "alter_group_offsets", "group_offsets", "delete_group_offsets" -> offsets(call);
            case "list_groups", "describe_group", "delete_group" -> groups(call);
            default -> cluster(call);
        };
    }

    private Object topics(JsonNode call) throws Exception {
        String topic = call.path("topic").asText();
        switch (call.get("call").asText()) {
            case "create_topic" -> {
                var made = new NewTopic(topic, call.get("partitions").asInt(), (short) call.get("replicas").asInt());
                admin.createTopics(List.of(made.configs(texts(call.get("configs"))))).all().get();
            }
            case "create_partitions" -> {
                var total = NewPartitions.increaseTo(call.get("total").asInt());
                admin.createPartitions(Map.of(topic, total)).all().get();
            }
            case "delete_topic" -> admin.deleteTopics(List.of(topic)).all().get();
            case "list_topics" -> {
                return with(admin.listTopics().names().get(), call.get("prefix").asText());
            }
            default -> {
                var found = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions();
                return Map.of("partitions", found.size(), "replicas", found.get(0).replicas().size());
            }
        }
        return true;
    }

    private Object configs(JsonNode call) throws Exception {
        boolean broker = call.has("broker");
        var resource = new ConfigResource(
                broker ? ConfigResource.Type.BROKER : ConfigResource.Type.TOPIC,
                call.get(broker ? "broker" : "topic").asText());
        if (call.get("call").asText().equals("alter_topic_configs")) {
            Collection<AlterConfigOp> changes = new ArrayList<>();
            texts(call.get("set")).forEach((name, value) ->
                    changes.add(new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)));
            call.get("delete").forEach(name ->
                    changes.add(new AlterConfigOp(new ConfigEntry(name.asText(), null), AlterConfigOp.OpType.DELETE)));
            admin.incrementalAlterConfigs(Map.of(resource, changes)).all().get();
            return true;
        }
        Config found = admin.describeConfigs(List.of(resource)).all().get().get(resource);
        var settings = new TreeMap<String, String>();
        call.get("names").forEach(name -> settings.put(name.asText(), found.get(name.asText()).value()));
        return settings;
    }

    private Object partitions(JsonNode call) throws Exception {
        String topic = call.get("topic").asText();
        var partition = new TopicPartition(topic, call.path("partition").asInt());
        switch (call.get("call").asText()) {
            case "list_offsets" -> {
                boolean earliest = call.get("spec").asText().equals("earliest");
                var spec = earliest ? OffsetSpec.earliest() : OffsetSpec.latest();
                return admin.listOffsets(Map.of(partition, spec)).partitionResult(partition).get().offset();
            }
            case "delete_records" -> {
                var before = new HashMap<TopicPartition, RecordsToDelete>();
                numbers(topic, call).forEach((each, offset) -> before.put(each, RecordsToDelete.beforeOffset(offset)));
                var marks = new TreeMap<Integer, Long>();
                for (var done : admin.deleteRecords(before).lowWatermarks().entrySet()) {
                    marks.put(done.getKey().partition(), done.getValue().get().lowWatermark());
                }
                return marks;
            }
            case "elect_leader" -> {
                var error = admin.electLeaders(ElectionType.PREFERRED, Set.of(partition)).partitions().get().get(partition);
                return error.map(each -> each.getClass().getSimpleName()).orElse("elected");
            }
            default -> {
                var moving = admin.listPartitionReassignments(Set.of(partition)).reassignments().get();
                return moving.size();
            }
        }
    }

    private Object offsets(JsonNode call) throws Exception {
        String group = call.get("group").asText();
        String topic = call.get("topic").asText();
        switch (call.get("call").asText()) {
            case "alter_group_offsets" -> {
                var offsets = new HashMap<TopicPartition, OffsetAndMetadata>();
                numbers(topic, call).forEach((each, offset) -> offsets.put(each, new OffsetAndMetadata(offset)));
                admin.alterConsumerGroupOffsets(group, offsets).all().get();
                return true;
            }
            case "delete_group_offsets" -> {
                var partition = new TopicPartition(topic, call.get("partition").asInt());
                admin.deleteConsumerGroupOffsets(group, Set.of(partition)).all().get();
                return true;
            }
            default -> {
                var found = new TreeMap<Integer, Long>();
                admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get()
                        .forEach((partition, offset) -> found.put(partition.partition(), offset.offset()));
                return found;
            }
        }
    }

    private Object groups(JsonNode call) throws Exception {
        switch (call.get("call").asText()) {
            case "list_groups" -> {
                var names = new HashSet<String>();
                for (GroupListing group : admin.listGroups().all().get()) {
                    names.add(group.groupId());
                }
                return with(names, call.get("prefix").asText());
            }
            case "describe_group" -> {
                String group = call.get("group").asText();
                var found = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
                return Map.of("state", found.groupState().toString(), "members", found.members().size());
            }
            default -> admin.deleteConsumerGroups(List.of(call.get("group").asText())).all().get();
        }
        return true;
    }

    private Object cluster(JsonNode call) throws Exception {
        switch (call.get("call").asText()) {
            case "describe_cluster" -> {
                return new TreeSet<>(admin.describeCluster().nodes().get().stream().map(Node::id).toList());
            }
            case "describe_log_dirs" -> {
                var sizes = new TreeMap<String, Long>();
                for (var broker : admin.describeLogDirs(List.of(1, 2, 3)).allDescriptions().get().entrySet()) {
                    broker.getValue().values().forEach(folder -> folder.replicaInfos().forEach((partition, info) -> {
                        if (partition.topic().equals(call.get("topic").asText())) {
                            sizes.put(broker.getKey() + ":" + partition.partition(), info.size());
                        }
                    }));
                }
                return sizes;
            }
            case "alter_quota" -> {
                var op = new ClientQuotaAlteration.Op(call.get("key").asText(), call.get("value").asDouble());
                var entity = new ClientQuotaEntity(Map.of("client-id", call.get("client_id").asText()));
                admin.alterClientQuotas(List.of(new ClientQuotaAlteration(entity, List.of(op)))).all().get();
                return true;
            }
            case "describe_quota" -> {
                var of = ClientQuotaFilterComponent.ofEntity("client-id", call.get("client_id").asText());
                var found = admin.describeClientQuotas(ClientQuotaFilter.contains(List.of(of))).entities().get();
                return found.values().iterator().next();
            }
            case "alter_scram" -> {
                var info = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, call.get("iterations").asInt());
                var change = new UserScramCredentialUpsertion(call.get("user").asText(), info, "secret");
                admin.alterUserScramCredentials(List.of(change)).all().get();
                return true;
            }
            case "describe_scram" -> {
                var found = admin.describeUserScramCredentials(List.of(call.get("user").asText())).all().get();
                return found.values().iterator().next().credentialInfos().get(0).iterations();
            }
            case "describe_acls" -> {
                return admin.describeAcls(AclBindingFilter.ANY).values().get().size();
            }
            default -> throw new IllegalArgumentException(call.toString());
        }
    }

    private static TreeSet<String> with(Set<String> names, String prefix) {
        return new TreeSet<>(names.stream().filter(name -> name.startsWith(prefix)).toList());
    }

    private static Map<String, String> texts(JsonNode of) {
        var found = new HashMap<String, String>();
        of.fields().forEachRemaining(each -> found.put(each.getKey(), each.getValue().asText()));
        return found;
    }

    private static Map<TopicPartition, Long> numbers(String topic, JsonNode call) {
        var found = new HashMap<TopicPartition, Long>();
        call.get("offsets").fields().forEachRemaining(each ->
                found.put(new TopicPartition(topic, Integer.parseInt(each.getKey())), each.getValue().asLong()));
        return found;
    }
}
