package main

import (
	"fmt"

	"fakebroker.test/conformance/secured/settings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func options(from settings.Settings) ([]kgo.Opt, error) {
	options := []kgo.Opt{kgo.SeedBrokers(from.Brokers...)}
	config, err := from.TLS.Config()
	if err != nil {
		return nil, err
	}
	if config != nil {
		options = append(options, kgo.DialTLSConfig(config))
	}
	if from.SASL != nil {
		mechanism, err := mechanism(*from.SASL)
		if err != nil {
			return nil, err
		}
		options = append(options, kgo.SASL(mechanism))
	}
	return options, nil
}

func mechanism(login settings.SASL) (sasl.Mechanism, error) {
	switch login.Mechanism {
	case "PLAIN":
		return plain.Auth{User: login.Username, Pass: login.Password}.AsMechanism(), nil
	case "SCRAM-SHA-256":
		return scram.Auth{User: login.Username, Pass: login.Password}.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return scram.Auth{User: login.Username, Pass: login.Password}.AsSha512Mechanism(), nil
	case "OAUTHBEARER":
		return oauth.Auth{Token: login.Token}.AsMechanism(), nil
	case "AWS_MSK_IAM":
		return aws.Auth{AccessKey: login.Username, SecretKey: login.Password}.AsManagedStreamingIAMMechanism(), nil
	}
	return nil, fmt.Errorf("no mechanism %q", login.Mechanism)
}
