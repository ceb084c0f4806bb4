package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/IBM/sarama"

	"fakebroker.test/conformance/plan"
)

type administrator struct{ sarama.ClusterAdmin }

func addresses(bootstrap string) []string { return strings.Split(bootstrap, ",") }

func administer(bootstrap string) func(plan.Call) (any, error) {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	admin, err := sarama.NewClusterAdmin(addresses(bootstrap), config)
	if err != nil {
		plan.Fail(err)
	}
	return administrator{admin}.do
}

func (a administrator) do(call plan.Call) (any, error) {
	switch call.Call {
	case "create_topic":
		return true, a.CreateTopic(call.Topic, &sarama.TopicDetail{
			NumPartitions: call.Partitions, ReplicationFactor: call.Replicas, ConfigEntries: plan.Pointers(call.Configs),
		}, false)
	case "create_partitions":
		return true, a.CreatePartitions(call.Topic, int32(call.Total), nil, false)
	case "delete_topic":
		return true, a.DeleteTopic(call.Topic)
	case "list_topics":
		found, err := a.ListTopics()
		return plan.With(slices.Collect(maps.Keys(found)), call.Prefix), err
	case "describe_topic":
		found, err := a.DescribeTopics([]string{call.Topic})
		if err != nil {
			return nil, err
		}
		if found[0].Err != sarama.ErrNoError {
			return nil, found[0].Err
		}
		replicas := len(found[0].Partitions[0].Replicas)
		return map[string]int{"partitions": len(found[0].Partitions), "replicas": replicas}, nil
	case "alter_topic_configs":
		entries := map[string]sarama.IncrementalAlterConfigsEntry{}
		for key, value := range plan.Pointers(call.Set) {
			entries[key] = sarama.IncrementalAlterConfigsEntry{
				Operation: sarama.IncrementalAlterConfigsOperationSet, Value: value,
			}
		}
		for _, key := range call.Delete {
			entries[key] = sarama.IncrementalAlterConfigsEntry{
				Operation: sarama.IncrementalAlterConfigsOperationDelete,
			}
		}
		return true, a.IncrementalAlterConfig(sarama.TopicResource, call.Topic, entries, false)
	case "describe_topic_configs":
		return a.settings(sarama.TopicResource, call.Topic, call.Names)
	case "describe_broker_configs":
		return a.settings(sarama.BrokerResource, strconv.Itoa(int(call.Broker)), call.Names)
	case "list_offsets", "delete_records", "elect_leader", "list_reassignments", "describe_log_dirs":
		return a.ofPartitions(call)
	case "alter_group_offsets", "group_offsets", "delete_group_offsets", "list_groups", "describe_group", "delete_group":
		return a.ofGroups(call)
	}
	return a.ofCluster(call)
}

func (a administrator) settings(kind sarama.ConfigResourceType, of string, names []string) (any, error) {
	found, err := a.DescribeConfig(sarama.ConfigResource{Type: kind, Name: of, ConfigNames: names})
	values := map[string]string{}
	for _, entry := range found {
		values[entry.Name] = entry.Value
	}
	return values, err
}

func (a administrator) ofPartitions(call plan.Call) (any, error) {
	partitions := map[string][]int32{call.Topic: {call.Partition}}
	switch call.Call {
	case "list_offsets":
		spec := sarama.OffsetNewest
		if call.Spec == "earliest" {
			spec = sarama.OffsetOldest
		}
		found, err := a.ListOffsets(map[string]map[int32]int64{call.Topic: {call.Partition: spec}}, nil)
		if err != nil {
			return nil, err
		}
		offset := found[call.Topic][call.Partition]
		if errors.Is(offset.Err, sarama.ErrNoError) {
			return offset.Offset, nil
		}
		return nil, offset.Err
	case "delete_records":
		return true, a.DeleteRecords(call.Topic, call.Offsets)
	case "elect_leader":
		done, err := a.ElectLeaders(sarama.PreferredElection, partitions)
		if err != nil {
			return nil, err
		}
		return "elected", orNil(done[call.Topic][call.Partition].ErrorCode)
	case "list_reassignments":
		found, err := a.ListPartitionReassignments(call.Topic, partitions[call.Topic])
		return len(found), err
	}
	found, err := a.DescribeLogDirs([]int32{1, 2, 3})
	sizes := map[string]int64{}
	for broker, folders := range found {
		for _, folder := range folders {
			for _, topic := range folder.Topics {
				for _, partition := range topic.Partitions {
					if topic.Topic == call.Topic {
						sizes[fmt.Sprintf("%d:%d", broker, partition.PartitionID)] = partition.Size
					}
				}
			}
		}
	}
	return sizes, err
}

func (a administrator) ofGroups(call plan.Call) (any, error) {
	switch call.Call {
	case "alter_group_offsets":
		offsets := map[int32]sarama.OffsetAndMetadata{}
		for partition, offset := range call.Offsets {
			offsets[partition] = sarama.OffsetAndMetadata{Offset: offset, LeaderEpoch: -1}
		}
		_, err := a.AlterConsumerGroupOffsets(call.Group, map[string]map[int32]sarama.OffsetAndMetadata{call.Topic: offsets}, nil)
		return true, err
	case "group_offsets":
		found, err := a.ListConsumerGroupOffsets(call.Group, nil)
		if err != nil {
			return nil, err
		}
		committed := map[int32]int64{}
		for partition, block := range found.Blocks[call.Topic] {
			committed[partition] = block.Offset
		}
		return committed, orNil(found.Err)
	case "delete_group_offsets":
		return true, a.DeleteConsumerGroupOffset(call.Group, call.Topic, call.Partition)
	case "list_groups":
		found, err := a.ListConsumerGroups()
		return plan.With(slices.Collect(maps.Keys(found)), call.Prefix), err
	case "describe_group":
		found, err := a.DescribeConsumerGroups([]string{call.Group})
		if err != nil {
			return nil, err
		}
		return map[string]any{"state": found[0].State, "members": len(found[0].Members)}, orNil(found[0].Err)
	}
	return true, a.DeleteConsumerGroup(call.Group)
}

func (a administrator) ofCluster(call plan.Call) (any, error) {
	switch call.Call {
	case "describe_cluster":
		found, _, err := a.DescribeCluster()
		ids := []int32{}
		for _, broker := range found {
			ids = append(ids, broker.ID())
		}
		slices.Sort(ids)
		return ids, err
	case "alter_quota":
		entity := []sarama.QuotaEntityComponent{{EntityType: sarama.QuotaEntityClientID, Name: call.ClientID}}
		return true, a.AlterClientQuotas(entity, sarama.ClientQuotasOp{Key: call.Key, Value: call.Value}, false)
	case "describe_quota":
		found, err := a.DescribeClientQuotas([]sarama.QuotaFilterComponent{
			{EntityType: sarama.QuotaEntityClientID, MatchType: sarama.QuotaMatchExact, Match: call.ClientID},
		}, true)
		if err != nil || len(found) == 0 {
			return nil, err
		}
		return found[0].Values, nil
	case "alter_scram":
		done, err := a.UpsertUserScramCredentials([]sarama.AlterUserScramCredentialsUpsert{{
			Name: call.User, Mechanism: sarama.SCRAM_MECHANISM_SHA_256, Iterations: call.Iterations,
			Salt: []byte("salt"), Password: []byte("secret"),
		}})
		if err != nil {
			return nil, err
		}
		return true, orNil(done[0].ErrorCode)
	case "describe_scram":
		found, err := a.DescribeUserScramCredentials([]string{call.User})
		if err != nil {
			return nil, err
		}
		if err := orNil(found[0].ErrorCode); err != nil {
			return nil, err
		}
		return found[0].CredentialInfos[0].Iterations, nil
	case "describe_acls":
		found, err := a.ListAcls(sarama.AclFilter{
			Version: 1, ResourceType: sarama.AclResourceAny, ResourcePatternTypeFilter: sarama.AclPatternAny,
			Operation: sarama.AclOperationAny, PermissionType: sarama.AclPermissionAny,
		})
		return len(found), err
	}
	return nil, plan.ErrUnsupported
}

func orNil(code sarama.KError) error {
	if code == sarama.ErrNoError {
		return nil
	}
	return code
}
