package main

import (
	"context"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"fakebroker.test/conformance/plan"
)

// handler tells what is claimed and read; a claim lasts while ConsumeClaim runs.
type handler struct {
	owned   plan.Owned
	mutex   sync.Mutex
	session sarama.ConsumerGroupSession
}

func (h *handler) Setup(session sarama.ConsumerGroupSession) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.session = session
	return nil
}

func (h *handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	h.owned.Change([]int32{claim.Partition()}, nil)
	defer func() { h.owned.Change(nil, []int32{claim.Partition()}) }()
	for record := range claim.Messages() {
		session.MarkMessage(record, "")
		plan.Tell(map[string]any{"read": [][]any{{record.Partition, record.Offset, string(record.Value)}}})
	}
	return nil
}

func join(bootstrap string, member plan.Member) {
	if member.Protocol == "consumer" {
		plan.Tell(map[string]any{"unsupported": "KIP-848"})
		return
	}
	group, err := sarama.NewConsumerGroup(addresses(bootstrap), member.Group, joining(member))
	if err != nil {
		plan.Fail(err)
	}
	var claims handler
	go func() {
		for err := range group.Errors() {
			plan.Tell(map[string]any{"error": name(err)})
		}
	}()
	ctx, leave := context.WithCancel(context.Background())
	left := make(chan struct{})
	go func() {
		defer close(left)
		for ctx.Err() == nil { // a session for each generation
			if err := group.Consume(ctx, []string{member.Topic}, &claims); err != nil {
				plan.Tell(map[string]any{"error": name(err)})
				return
			}
		}
	}()
	for word := range plan.Told() {
		if word == "close" {
			break
		}
		claims.mutex.Lock()
		claims.session.Commit()
		claims.mutex.Unlock()
		plan.Tell(map[string]any{"committed": true})
	}
	leave()
	<-left
	if err := group.Close(); err != nil {
		plan.Fail(err)
	}
	plan.Tell(map[string]any{"closed": true})
}

func joining(member plan.Member) *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Metadata.AllowAutoTopicCreation = false
	config.Consumer.Return.Errors = true
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	if member.Reset == "latest" {
		config.Consumer.Offsets.Initial = sarama.OffsetNewest
	}
	config.Consumer.Group.Session.Timeout = time.Duration(member.SessionMs) * time.Millisecond
	config.Consumer.Group.Heartbeat.Interval = time.Duration(member.HeartbeatMs) * time.Millisecond
	strategy := sarama.NewBalanceStrategyRange()
	if member.Assignor == "cooperative-sticky" {
		strategy = sarama.NewBalanceStrategyCooperativeSticky()
	}
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy}
	if member.Instance != nil {
		config.Consumer.Group.InstanceId = *member.Instance
	}
	return config
}
