// sarama.
package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/IBM/sarama"

	"fakebroker.test/conformance/plan"
)

var codecs = map[string]sarama.CompressionCodec{
	"none":   sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

func main() {
	plan.Run(plan.Program{
		Client:     "sarama",
		Module:     "github.com/IBM/sarama",
		Produce:    runJob,
		Join:       join,
		Administer: administer,
		Name:       name,
	})
}

func runJob(bootstrap string, job plan.Job) []plan.Result {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Metadata.Retry.Max = 1
	config.Metadata.AllowAutoTopicCreation = false
	config.Net.ReadTimeout = job.Timeout() + 3*time.Second // longer than what the broker is told
	config.Net.MaxOpenRequests = 1                         // sarama asks for it with idempotence
	config.Producer.RequiredAcks = sarama.RequiredAcks(job.Acks)
	config.Producer.Idempotent = job.Idempotent
	config.Producer.Compression = codecs[job.Codec]
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Timeout = job.Timeout()
	config.Producer.Flush.Frequency = job.Linger()
	config.Producer.Return.Successes = true
	config.Producer.Retry.Max = 0
	if job.Retries {
		config.Producer.Retry.Max = 30
	}
	config.Producer.Transaction.ID = job.TransactionalID
	producer, err := sarama.NewAsyncProducer(strings.Split(bootstrap, ","), config)
	if err != nil {
		plan.Fail(err)
	}
	if job.TransactionalID != "" {
		if err := producer.BeginTxn(); err != nil {
			plan.Fail(err)
		}
	}
	results := make([]plan.Result, len(job.Records))
	index := 0
	for part, records := range job.Parts() {
		if part > 0 {
			plan.Pause()
		}
		go func(first int) {
			for i, record := range records {
				producer.Input() <- message(job.Topic, record, first+i)
			}
		}(index)
		for range records {
			select {
			case sent := <-producer.Successes():
				results[sent.Metadata.(int)] = plan.Delivered(sent.Partition, sent.Offset)
			case failed := <-producer.Errors():
				results[failed.Msg.Metadata.(int)] = plan.Result{Error: name(failed.Err)}
			}
		}
		index += len(records)
	}
	if job.TransactionalID != "" {
		results = append(results, plan.Ended(producer.CommitTxn(), name))
	}
	if err := producer.Close(); err != nil && job.TransactionalID == "" {
		plan.Fail(err)
	}
	return results
}

func message(topic string, record plan.Record, index int) *sarama.ProducerMessage {
	sent := &sarama.ProducerMessage{
		Topic:     topic,
		Partition: record.Partition,
		Timestamp: time.UnixMilli(record.TimestampMs),
		Metadata:  index,
	}
	if record.Key != nil { // a nil encoder is null; an encoder of nil is empty
		sent.Key = sarama.ByteEncoder(record.Key)
	}
	if record.Value != nil {
		sent.Value = sarama.ByteEncoder(record.Value)
	}
	for _, header := range record.Headers {
		sent.Headers = append(sent.Headers, sarama.RecordHeader{Key: []byte(header.Name), Value: header.Value})
	}
	return sent
}

func name(err error) string {
	if broker, ok := err.(sarama.KError); ok {
		return fmt.Sprintf("KError %d: %s", int16(broker), strings.TrimPrefix(broker.Error(), "kafka server: "))
	}
	return err.Error()
}
