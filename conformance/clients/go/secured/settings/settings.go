// Package settings reads the settings that fakebroker has for franz-go, Sarama and kafka-go.
package settings

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// Settings has the addresses of the brokers, the CA, and the login.
type Settings struct {
	Brokers []string `json:"brokers"`
	TLS     *TLS     `json:"tls"`
	SASL    *SASL    `json:"sasl"`
}

// TLS has names of PEM files. CertFile and KeyFile are those of a client with a certificate, or empty.
type TLS struct {
	CAFile   string `json:"ca_file"`
	CertFile string `json:"cert_file"`
	KeyFile  string `json:"key_file"`
}

// SASL has a user and a password, or a token for OAUTHBEARER.
type SASL struct {
	Mechanism string `json:"mechanism"`
	Username  string `json:"username"`
	Password  string `json:"password"`
	Token     string `json:"token"`
}

// Config returns the configuration for crypto/tls. It is nil for a listener without TLS.
func (t *TLS) Config() (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	ca, err := os.ReadFile(t.CAFile)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s has no certificate", t.CAFile)
	}
	if t.CertFile != "" {
		own, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}
