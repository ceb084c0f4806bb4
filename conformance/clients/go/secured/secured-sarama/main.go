// Sarama over TLS and SASL.
package main

import (
	"context"
	"errors"

	"fakebroker.test/conformance/secured/plays"

	"github.com/IBM/sarama"
)

func main() { plays.Run(client{}, name) }

func name(err error) string {
	var known sarama.KError
	if errors.As(err, &known) {
		return names[known]
	}
	return ""
}

// Sarama has no names as text: its constants are the names that a user writes.
var names = map[sarama.KError]string{
	sarama.ErrTopicAuthorizationFailed:           "ErrTopicAuthorizationFailed",
	sarama.ErrGroupAuthorizationFailed:           "ErrGroupAuthorizationFailed",
	sarama.ErrTransactionalIDAuthorizationFailed: "ErrTransactionalIDAuthorizationFailed",
	sarama.ErrSASLAuthenticationFailed:           "ErrSASLAuthenticationFailed",
}

type client struct{}

func impatient(play plays.Play) (*sarama.Config, error) {
	config, err := configuration(play.Settings)
	if err != nil {
		return nil, err
	}
	config.Version = sarama.MaxVersion
	config.Metadata.Retry.Max = 0
	config.Metadata.AllowAutoTopicCreation = false
	config.Producer.Retry.Max = 0
	config.Producer.Transaction.Retry.Max = 0
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Consumer.Group.Rebalance.Retry.Max = 0
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Return.Errors = true
	return config, nil
}

func (client) RoundTrip(_ context.Context, play plays.Play) (string, error) {
	config, err := impatient(play)
	if err != nil {
		return "", err
	}
	connected, err := sarama.NewClient(play.Settings.Brokers, config)
	if err != nil {
		return "", err
	}
	defer connected.Close()
	producer, err := sarama.NewSyncProducerFromClient(connected)
	if err != nil {
		return "", err
	}
	defer producer.Close()
	partition, offset, err := producer.SendMessage(message(play))
	if err != nil {
		return "", err
	}
	consumer, err := sarama.NewConsumerFromClient(connected)
	if err != nil {
		return "", err
	}
	defer consumer.Close()
	reading, err := consumer.ConsumePartition(play.Topic, partition, offset)
	if err != nil {
		return "", err
	}
	defer reading.Close()
	select {
	case read := <-reading.Messages():
		return string(read.Value), nil
	case err := <-reading.Errors():
		return "", err
	}
}

func message(play plays.Play) *sarama.ProducerMessage {
	return &sarama.ProducerMessage{Topic: play.Topic, Value: sarama.StringEncoder(play.Value)}
}

func (client) Group(ctx context.Context, play plays.Play) (string, error) {
	config, err := impatient(play)
	if err != nil {
		return "", err
	}
	member, err := sarama.NewConsumerGroup(play.Settings.Brokers, play.Group, config)
	if err != nil {
		return "", err
	}
	defer member.Close()
	until, stop := context.WithCancel(ctx)
	defer stop()
	read := &first{stop: stop}
	if err := member.Consume(until, []string{play.Topic}, read); err != nil {
		return "", err
	}
	return read.value, nil
}

// first is what a member does with its share: it keeps one record and stops.
type first struct {
	value string
	stop  func()
}

func (*first) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*first) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (f *first) ConsumeClaim(_ sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for read := range claim.Messages() {
		f.value = string(read.Value)
		f.stop()
		return nil
	}
	return nil
}

func (client) Transaction(_ context.Context, play plays.Play) (string, error) {
	config, err := impatient(play)
	if err != nil {
		return "", err
	}
	config.Producer.Idempotent = true
	config.Producer.Transaction.ID = play.TransactionalID
	config.Producer.Retry.Max = 1 // what Sarama wants for idempotence
	config.Net.MaxOpenRequests = 1
	producer, err := sarama.NewSyncProducer(play.Settings.Brokers, config)
	if err != nil {
		return "", err
	}
	defer producer.Close()
	if err := producer.BeginTxn(); err != nil {
		return "", err
	}
	if _, _, err := producer.SendMessage(message(play)); err != nil {
		return "", err
	}
	return play.Value, producer.CommitTxn()
}
