package main

import (
	"crypto/sha256"
	"crypto/sha512"
	"hash"

	"fakebroker.test/conformance/secured/settings"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"
)

func configuration(from settings.Settings) (*sarama.Config, error) {
	config := sarama.NewConfig()
	tls, err := from.TLS.Config()
	if err != nil {
		return nil, err
	}
	config.Net.TLS.Enable = tls != nil
	config.Net.TLS.Config = tls
	if login := from.SASL; login != nil {
		config.Net.SASL.Enable = true
		config.Net.SASL.Mechanism = sarama.SASLMechanism(login.Mechanism)
		config.Net.SASL.User = login.Username
		config.Net.SASL.Password = login.Password
		config.Net.SASL.TokenProvider = token(login.Token)
		config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient {
			if login.Mechanism == sarama.SASLTypeSCRAMSHA256 {
				return &conversation{hash: sha256.New}
			}
			return &conversation{hash: sha512.New}
		}
	}
	return config, nil
}

// token is what Sarama asks for each login by OAUTHBEARER.
type token string

func (t token) Token() (*sarama.AccessToken, error) {
	return &sarama.AccessToken{Token: string(t)}, nil
}

// conversation is the SCRAM that Sarama leaves to you.
type conversation struct {
	hash func() hash.Hash
	*scram.ClientConversation
}

func (c *conversation) Begin(user, password, authzID string) error {
	client, err := scram.HashGeneratorFcn(c.hash).NewClient(user, password, authzID)
	if err == nil {
		c.ClientConversation = client.NewConversation()
	}
	return err
}
