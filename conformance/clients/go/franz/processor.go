package main

import (
	"context"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"fakebroker.test/conformance/plan"
)

func process(bootstrap string, given plan.Processor) {
	if err := transformAll(bootstrap, given); err != nil {
		plan.Tell(map[string]any{"error": name(err)})
		os.Exit(1)
	}
}

func transformAll(bootstrap string, given plan.Processor) error {
	steps := plan.Steps{Die: given.Die}
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(strings.Split(bootstrap, ",")...),
		kgo.TransactionalID(given.ID),
		kgo.ConsumerGroup(given.Group),
		kgo.InstanceID(given.Instance),
		kgo.ConsumeTopics(given.In),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0),
		kgo.DisableClientMetrics(),
	)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if _, _, err := session.Client().ProducerID(ctx); err != nil {
		return err
	}
	steps.Reached("init")
	for {
		fetches := session.PollRecords(ctx, 1)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, record := range fetches.Records() {
			if err := transform(ctx, session, given, &steps, record); err != nil {
				return err
			}
		}
	}
}

// What is aborted is consumed again: the session goes back to where the group is.
func transform(
	ctx context.Context, session *kgo.GroupTransactSession, given plan.Processor, steps *plan.Steps, record *kgo.Record,
) error {
	value := string(record.Value)
	steps.Consumed(value)
	if err := session.Begin(); err != nil {
		return err
	}
	steps.Reached("begun")
	sent := make(chan error, 2)
	promise := func(_ *kgo.Record, err error) { sent <- err }
	session.Produce(ctx, &kgo.Record{Topic: given.Out, Partition: 0, Value: record.Value}, promise)
	steps.Reached("produced")
	session.Produce(ctx, &kgo.Record{Topic: given.Out, Partition: 1, Value: record.Value}, promise)
	for range 2 {
		if err := <-sent; err != nil {
			return err
		}
	}
	steps.Reached("flushed")
	committed, err := session.End(ctx, kgo.TransactionEndTry(!steps.Aborts)) // its offsets too
	if err != nil {
		return err
	}
	if !committed {
		steps.Reached("aborted")
		plan.Tell(map[string]any{"aborted": value})
		return nil
	}
	steps.Reached("committed")
	plan.Tell(map[string]any{"done": value})
	return nil
}
