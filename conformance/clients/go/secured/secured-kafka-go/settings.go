package main

import (
	"fmt"

	"fakebroker.test/conformance/secured/settings"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// transport is for kafka.Writer and kafka.Client.
func transport(from settings.Settings) (*kafka.Transport, error) {
	dialer, err := dialer(from)
	if err != nil {
		return nil, err
	}
	return &kafka.Transport{TLS: dialer.TLS, SASL: dialer.SASLMechanism}, nil
}

// dialer is for kafka.Reader and kafka.Conn.
func dialer(from settings.Settings) (*kafka.Dialer, error) {
	config, err := from.TLS.Config()
	if err != nil {
		return nil, err
	}
	login, err := mechanism(from.SASL)
	if err != nil {
		return nil, err
	}
	return &kafka.Dialer{TLS: config, SASLMechanism: login}, nil
}

func mechanism(login *settings.SASL) (sasl.Mechanism, error) {
	if login == nil {
		return nil, nil
	}
	switch login.Mechanism {
	case "PLAIN":
		return plain.Mechanism{Username: login.Username, Password: login.Password}, nil
	case "SCRAM-SHA-256":
		return scram.Mechanism(scram.SHA256, login.Username, login.Password)
	case "SCRAM-SHA-512":
		return scram.Mechanism(scram.SHA512, login.Username, login.Password)
	}
	return nil, fmt.Errorf("no mechanism %q", login.Mechanism)
}
