// Package plays has what the secured programs have in common: each line of stdin is a play, and each line of stdout its
// result.
package plays

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"fakebroker.test/conformance/secured/settings"
)

const limit = time.Minute // for a client that never ends; no test waits for it

// ErrUnknown is that of a play that no client knows.
var ErrUnknown = errors.New("there is no such play")

// Play is what a client does: how it connects, what it sends, and where.
type Play struct {
	Settings        settings.Settings `json:"settings"`
	Do              string            `json:"do"`
	Topic           string            `json:"topic"`
	Group           string            `json:"group"`
	TransactionalID string            `json:"transactional_id"`
	Value           string            `json:"value"`
}

// Client does the plays with one library.
type Client interface {
	// RoundTrip sends a record with acks=all, and returns what it reads at its offset.
	RoundTrip(ctx context.Context, play Play) (string, error)
	// Group returns the first record that a member of a group reads.
	Group(ctx context.Context, play Play) (string, error)
	// Transaction commits a record in a transaction, and returns the record.
	Transaction(ctx context.Context, play Play) (string, error)
}

type result struct {
	Value string `json:"value,omitempty"`
	Error string `json:"error,omitempty"` // its name in the library
	Text  string `json:"text,omitempty"`
}

// Run does each play of stdin. `name` is the library's name of an error, or empty.
func Run(client Client, name func(error) string) {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var play Play
		err := json.Unmarshal(lines.Bytes(), &play)
		var value string
		if err == nil {
			value, err = do(client, play)
		}
		told := result{Value: value}
		if err != nil {
			told = result{Error: name(err), Text: err.Error()}
		}
		if err := answers.Encode(told); err != nil {
			return
		}
	}
}

func do(client Client, play Play) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	switch play.Do {
	case "round trip":
		return client.RoundTrip(ctx, play)
	case "group":
		return client.Group(ctx, play)
	case "transaction":
		return client.Transaction(ctx, play)
	}
	return "", ErrUnknown
}
