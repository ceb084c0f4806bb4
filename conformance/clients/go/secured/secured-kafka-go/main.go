// kafka-go over TLS and SASL.
package main

import (
	"context"
	"errors"
	"time"

	"fakebroker.test/conformance/secured/plays"

	"github.com/segmentio/kafka-go"
)

func main() { plays.Run(client{}, name) }

func name(err error) string {
	var several kafka.WriteErrors
	if errors.As(err, &several) {
		err = several[0]
	}
	var known kafka.Error
	if errors.As(err, &known) {
		return known.Title()
	}
	return ""
}

type client struct{}

func (client) RoundTrip(ctx context.Context, play plays.Play) (string, error) {
	transport, err := transport(play.Settings)
	if err != nil {
		return "", err
	}
	defer transport.CloseIdleConnections()
	writer := &kafka.Writer{
		Addr:         kafka.TCP(play.Settings.Brokers...),
		Topic:        play.Topic,
		RequiredAcks: kafka.RequireAll,
		MaxAttempts:  1,
		BatchSize:    1,
		Transport:    transport,
	}
	defer writer.Close()
	if err := writer.WriteMessages(ctx, kafka.Message{Value: []byte(play.Value)}); err != nil {
		return "", err
	}
	return read(ctx, play, kafka.ReaderConfig{StartOffset: kafka.FirstOffset})
}

// read returns the value of the play, or in a group the first one.
func read(ctx context.Context, play plays.Play, config kafka.ReaderConfig) (string, error) {
	dialer, err := dialer(play.Settings)
	if err != nil {
		return "", err
	}
	config.Brokers, config.Topic, config.Dialer = play.Settings.Brokers, play.Topic, dialer
	config.MaxAttempts = 1
	config.MaxWait = 100 * time.Millisecond // which Close waits for
	reader := kafka.NewReader(config)
	defer reader.Close()
	for {
		message, err := reader.ReadMessage(ctx)
		if err != nil || config.GroupID != "" || string(message.Value) == play.Value {
			return string(message.Value), err
		}
	}
}

func (client) Group(ctx context.Context, play plays.Play) (string, error) {
	return read(ctx, play, kafka.ReaderConfig{GroupID: play.Group, StartOffset: kafka.FirstOffset})
}

// Transaction has only the request with which one begins: kafka-go has no transactional producer.
func (client) Transaction(ctx context.Context, play plays.Play) (string, error) {
	transport, err := transport(play.Settings)
	if err != nil {
		return "", err
	}
	defer transport.CloseIdleConnections()
	low := &kafka.Client{Addr: kafka.TCP(play.Settings.Brokers...), Transport: transport}
	request := &kafka.InitProducerIDRequest{TransactionalID: play.TransactionalID, TransactionTimeoutMs: 60_000}
	response, err := low.InitProducerID(ctx, request)
	if err != nil {
		return "", err
	}
	return play.Value, response.Error
}
