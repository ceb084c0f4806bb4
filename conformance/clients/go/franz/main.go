// franz-go.
package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"fakebroker.test/conformance/plan"
)

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

var acks = map[int16]kgo.Acks{0: kgo.NoAck(), 1: kgo.LeaderAck(), -1: kgo.AllISRAcks()}

func main() {
	plan.Run(plan.Program{
		Client:     "franz-go",
		Module:     "github.com/twmb/franz-go",
		Produce:    runJob,
		Join:       join,
		Administer: administer,
		Process:    process,
		Name:       name,
	})
}

func runJob(bootstrap string, job plan.Job) []plan.Result {
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(bootstrap, ",")...),
		kgo.RequiredAcks(acks[job.Acks]),
		kgo.ProducerBatchCompression(codecs[job.Codec]),
		kgo.ProducerLinger(job.Linger()),
		kgo.ProduceRequestTimeout(job.Timeout()),
		kgo.RequestTimeoutOverhead(3 * time.Second), // what the client waits on top of what the broker is told
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.UnknownTopicRetries(1),
		kgo.DisableClientMetrics(),
	}
	if !job.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	if !job.Retries {
		options = append(options, kgo.RecordRetries(0))
	}
	if job.TransactionalID != "" {
		options = append(options, kgo.TransactionalID(job.TransactionalID))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		plan.Fail(err)
	}
	defer client.Close()
	if job.TransactionalID != "" {
		if err := client.BeginTransaction(); err != nil {
			plan.Fail(err)
		}
	}
	results := make([]plan.Result, len(job.Records))
	index := 0
	for part, records := range job.Parts() {
		if part > 0 {
			plan.Pause()
		}
		for _, record := range records {
			place := index
			index++
			client.Produce(context.Background(), message(job.Topic, record), func(sent *kgo.Record, err error) {
				if err != nil {
					results[place] = plan.Result{Error: name(err)}
				} else {
					results[place] = plan.Delivered(sent.Partition, sent.Offset)
				}
			})
		}
		if err := client.Flush(context.Background()); err != nil {
			plan.Fail(err)
		}
	}
	if job.TransactionalID != "" {
		results = append(results, plan.Ended(client.EndTransaction(context.Background(), kgo.TryCommit), name))
	}
	return results
}

func message(topic string, record plan.Record) *kgo.Record {
	headers := make([]kgo.RecordHeader, len(record.Headers))
	for i, header := range record.Headers {
		headers[i] = kgo.RecordHeader{Key: header.Name, Value: header.Value}
	}
	return &kgo.Record{
		Topic:     topic,
		Partition: record.Partition,
		Key:       record.Key,
		Value:     record.Value,
		Headers:   headers,
		Timestamp: time.UnixMilli(record.TimestampMs),
	}
}

func name(err error) string {
	var broker *kerr.Error
	if errors.As(err, &broker) {
		return broker.Message
	}
	return err.Error()
}
