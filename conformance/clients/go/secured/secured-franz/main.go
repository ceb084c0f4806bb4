// franz-go over TLS and SASL.
package main

import (
	"context"
	"errors"

	"fakebroker.test/conformance/secured/plays"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() { plays.Run(franz{}, name) }

func name(err error) string {
	var known *kerr.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return ""
}

type franz struct{}

func client(play plays.Play, more ...kgo.Opt) (*kgo.Client, error) {
	settings, err := options(play.Settings)
	if err != nil {
		return nil, err
	}
	settings = append(settings, kgo.RequestRetries(0), kgo.RecordRetries(0))
	return kgo.NewClient(append(settings, more...)...)
}

func (franz) RoundTrip(ctx context.Context, play plays.Play) (string, error) {
	producer, err := client(play)
	if err != nil {
		return "", err
	}
	defer producer.Close()
	record := &kgo.Record{Topic: play.Topic, Value: []byte(play.Value)}
	if err := producer.Ping(ctx); err != nil { // a producer would try to connect for ever
		return "", err
	}
	if err := producer.ProduceSync(ctx, record).FirstErr(); err != nil {
		return "", err
	}
	at := map[string]map[int32]kgo.Offset{play.Topic: {record.Partition: kgo.NewOffset().At(record.Offset)}}
	return first(ctx, play, kgo.ConsumePartitions(at))
}

func (franz) Group(ctx context.Context, play plays.Play) (string, error) {
	return first(
		ctx, play,
		kgo.ConsumerGroup(play.Group),
		kgo.ConsumeTopics(play.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
}

func first(ctx context.Context, play plays.Play, consuming ...kgo.Opt) (string, error) {
	consumer, err := client(play, consuming...)
	if err != nil {
		return "", err
	}
	defer consumer.Close()
	for {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return "", err
		}
		for _, record := range fetches.Records() {
			return string(record.Value), nil
		}
	}
}

func (franz) Transaction(ctx context.Context, play plays.Play) (string, error) {
	producer, err := client(play, kgo.TransactionalID(play.TransactionalID))
	if err != nil {
		return "", err
	}
	defer producer.Close()
	if err := producer.BeginTransaction(); err != nil {
		return "", err
	}
	record := &kgo.Record{Topic: play.Topic, Value: []byte(play.Value)}
	if err := producer.ProduceSync(ctx, record).FirstErr(); err != nil {
		return "", err
	}
	return play.Value, producer.EndTransaction(ctx, kgo.TryCommit)
}
