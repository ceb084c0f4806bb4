package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"fakebroker.test/conformance/plan"
)

const metadataAge = 10 * time.Millisecond

type administrator struct {
	*kadm.Client
	ctx context.Context
}

func administer(bootstrap string) func(plan.Call) (any, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(bootstrap, ",")...),
		kgo.DisableClientMetrics(),
		kgo.MetadataMinAge(metadataAge), // or else topics are listed as they were seconds ago
	)
	if err != nil {
		plan.Fail(err)
	}
	admin := administrator{kadm.NewClient(client), context.Background()}
	return admin.do
}

func (a administrator) do(call plan.Call) (any, error) {
	switch call.Call {
	case "create_topic":
		_, err := a.CreateTopic(a.ctx, call.Partitions, call.Replicas, plan.Pointers(call.Configs), call.Topic)
		return true, err
	case "create_partitions":
		done, err := a.UpdatePartitions(a.ctx, call.Total, call.Topic)
		return true, first(err, done[call.Topic].Err)
	case "delete_topic":
		_, err := a.DeleteTopic(a.ctx, call.Topic)
		return true, err
	case "list_topics":
		time.Sleep(2 * metadataAge)
		found, err := a.ListTopics(a.ctx)
		return plan.With(found.Names(), call.Prefix), err
	case "describe_topic":
		found, err := a.ListTopics(a.ctx, call.Topic)
		detail := found[call.Topic]
		return map[string]int{
			"partitions": len(detail.Partitions), "replicas": detail.Partitions.NumReplicas(),
		}, first(err, detail.Err)
	case "alter_topic_configs":
		return a.alterTopicConfigs(call)
	case "describe_topic_configs":
		return settings(call, call.Topic)(a.DescribeTopicConfigs(a.ctx, call.Topic))
	case "describe_broker_configs":
		return settings(call, strconv.Itoa(int(call.Broker)))(a.DescribeBrokerConfigs(a.ctx, call.Broker))
	case "list_offsets", "delete_records", "elect_leader", "list_reassignments", "describe_log_dirs":
		return a.ofPartitions(call)
	case "alter_group_offsets", "group_offsets", "delete_group_offsets", "list_groups", "describe_group", "delete_group":
		return a.ofGroups(call)
	}
	return a.ofCluster(call)
}

func (a administrator) alterTopicConfigs(call plan.Call) (any, error) {
	changes := []kadm.AlterConfig{}
	for key, value := range plan.Pointers(call.Set) {
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: key, Value: value})
	}
	for _, key := range call.Delete {
		changes = append(changes, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: key})
	}
	done, err := a.AlterTopicConfigs(a.ctx, changes, call.Topic)
	if err != nil {
		return nil, err
	}
	return true, done[0].Err
}

func settings(call plan.Call, of string) func(kadm.ResourceConfigs, error) (any, error) {
	return func(found kadm.ResourceConfigs, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		resource, err := found.On(of, nil)
		if err := first(err, resource.Err); err != nil {
			return nil, err
		}
		values := map[string]*string{}
		for _, name := range call.Names {
			for _, config := range resource.Configs {
				if config.Key == name {
					values[name] = config.Value
				}
			}
		}
		return values, nil
	}
}

func (a administrator) ofPartitions(call plan.Call) (any, error) {
	partition := kadm.TopicsSet{}
	partition.Add(call.Topic, call.Partition)
	switch call.Call {
	case "list_offsets":
		list := a.ListEndOffsets
		if call.Spec == "earliest" {
			list = a.ListStartOffsets
		}
		found, err := list(a.ctx, call.Topic)
		offset, _ := found.Lookup(call.Topic, call.Partition)
		return offset.Offset, first(err, offset.Err)
	case "delete_records":
		done, err := a.DeleteRecords(a.ctx, offsets(call))
		marks := map[int32]int64{}
		for partition := range call.Offsets {
			each, _ := done.Lookup(call.Topic, partition)
			err = first(err, each.Err)
			marks[partition] = each.LowWatermark
		}
		return marks, err
	case "elect_leader":
		done, err := a.ElectLeaders(a.ctx, kadm.ElectPreferredReplica, partition)
		return "elected", first(err, done[call.Topic][call.Partition].Err)
	case "list_reassignments":
		found, err := a.ListPartitionReassignments(a.ctx, partition)
		return len(found), err
	}
	found, err := a.DescribeAllLogDirs(a.ctx, nil)
	sizes := map[string]int64{}
	found.Each(func(folder kadm.DescribedLogDir) {
		for partition, each := range folder.Topics[call.Topic] {
			sizes[fmt.Sprintf("%d:%d", folder.Broker, partition)] = each.Size
		}
	})
	return sizes, err
}

func offsets(call plan.Call) kadm.Offsets {
	found := kadm.Offsets{}
	for partition, offset := range call.Offsets {
		found.AddOffset(call.Topic, partition, offset, -1)
	}
	return found
}

func (a administrator) ofGroups(call plan.Call) (any, error) {
	switch call.Call {
	case "alter_group_offsets":
		return true, a.CommitAllOffsets(a.ctx, call.Group, offsets(call))
	case "group_offsets":
		found, err := a.FetchOffsets(a.ctx, call.Group)
		committed := map[int32]int64{}
		for partition, each := range found[call.Topic] {
			committed[partition] = each.At
		}
		return committed, err
	case "delete_group_offsets":
		partition := kadm.TopicsSet{}
		partition.Add(call.Topic, call.Partition)
		done, err := a.DeleteOffsets(a.ctx, call.Group, partition)
		return true, first(err, done.Error())
	case "list_groups":
		found, err := a.ListGroups(a.ctx)
		return plan.With(found.Groups(), call.Prefix), err
	case "describe_group":
		found, err := a.DescribeGroups(a.ctx, call.Group)
		group := found[call.Group]
		return map[string]any{"state": group.State, "members": len(group.Members)}, first(err, group.Err)
	}
	done, err := a.DeleteGroup(a.ctx, call.Group)
	return true, first(err, done.Err)
}

func (a administrator) ofCluster(call plan.Call) (any, error) {
	switch call.Call {
	case "describe_cluster":
		found, err := a.ListBrokers(a.ctx)
		return found.NodeIDs(), err
	case "alter_quota":
		done, err := a.AlterClientQuotas(a.ctx, []kadm.AlterClientQuotaEntry{{
			Entity: kadm.ClientQuotaEntity{{Type: "client-id", Name: &call.ClientID}},
			Ops:    []kadm.AlterClientQuotaOp{{Key: call.Key, Value: call.Value}},
		}})
		if err != nil {
			return nil, err
		}
		return true, done[0].Err
	case "describe_quota":
		found, err := a.DescribeClientQuotas(a.ctx, true, []kadm.DescribeClientQuotaComponent{
			{Type: "client-id", MatchName: &call.ClientID},
		})
		values := map[string]float64{}
		for _, entry := range found {
			for _, value := range entry.Values {
				values[value.Key] = value.Value
			}
		}
		return values, err
	case "alter_scram":
		done, err := a.AlterUserSCRAMs(a.ctx, nil, []kadm.UpsertSCRAM{{
			User: call.User, Mechanism: kadm.ScramSha256, Iterations: call.Iterations, Password: "secret",
		}})
		return true, first(err, done[call.User].Err)
	case "describe_scram":
		found, err := a.DescribeUserSCRAMs(a.ctx, call.User)
		if err := first(err, found[call.User].Err); err != nil {
			return nil, err
		}
		return found[call.User].CredInfos[0].Iterations, nil
	case "describe_acls":
		filter := kadm.NewACLs().AnyResource().Operations().Allow().AllowHosts().Deny().DenyHosts().
			ResourcePatternType(kadm.ACLPatternAny)
		found, err := a.DescribeACLs(a.ctx, filter)
		if err != nil {
			return nil, err
		}
		return len(found), found[0].Err
	}
	return nil, plan.ErrUnsupported
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
