package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"fakebroker.test/conformance/plan"
)

func join(bootstrap string, member plan.Member) {
	var owned plan.Owned
	gained := func(_ context.Context, _ *kgo.Client, of map[string][]int32) { owned.Change(of[member.Topic], nil) }
	lost := func(_ context.Context, _ *kgo.Client, of map[string][]int32) { owned.Change(nil, of[member.Topic]) }
	client, err := kgo.NewClient(append(joining(member),
		kgo.SeedBrokers(strings.Split(bootstrap, ",")...),
		kgo.DisableClientMetrics(),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(gained),
		kgo.OnPartitionsRevoked(lost),
		kgo.OnPartitionsLost(lost),
	)...)
	if err != nil {
		plan.Fail(err)
	}
	words := plan.Told()
	for {
		select {
		case word := <-words:
			if word == "close" {
				client.CloseAllowingRebalance()
				plan.Tell(map[string]any{"closed": true})
				return
			}
			if err := client.CommitUncommittedOffsets(context.Background()); err != nil {
				plan.Tell(map[string]any{"error": name(err)})
			} else {
				plan.Tell(map[string]any{"committed": true})
			}
		default:
			read(client)
		}
	}
}

func joining(member plan.Member) []kgo.Opt {
	reset := kgo.NewOffset().AtStart()
	if member.Reset == "latest" {
		reset = kgo.NewOffset().AtEnd()
	}
	options := []kgo.Opt{
		kgo.ConsumerGroup(member.Group),
		kgo.ConsumeTopics(member.Topic),
		kgo.ConsumeResetOffset(reset),
	}
	if member.Instance != nil {
		options = append(options, kgo.InstanceID(*member.Instance))
	}
	if member.Protocol == "consumer" {
		return append(options, kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
	}
	balancer := kgo.RangeBalancer()
	if member.Assignor == "cooperative-sticky" {
		balancer = kgo.CooperativeStickyBalancer()
	}
	return append(options,
		kgo.Balancers(balancer),
		kgo.SessionTimeout(time.Duration(member.SessionMs)*time.Millisecond),
		kgo.HeartbeatInterval(time.Duration(member.HeartbeatMs)*time.Millisecond),
	)
}

func read(client *kgo.Client) {
	short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	fetches := client.PollFetches(short)
	defer client.AllowRebalance()
	records := [][]any{}
	fetches.EachRecord(func(record *kgo.Record) {
		records = append(records, []any{record.Partition, record.Offset, string(record.Value)})
	})
	if len(records) > 0 {
		plan.Tell(map[string]any{"read": records})
	}
	for _, failed := range fetches.Errors() {
		if !errors.Is(failed.Err, context.DeadlineExceeded) {
			plan.Tell(map[string]any{"error": name(failed.Err)})
		}
	}
}
