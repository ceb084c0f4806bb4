package plan

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
)

// ErrUnsupported is the answer to a call that the client does not have.
var ErrUnsupported = errors.New("unsupported")

// Member is how to be one: what it reads, and by which protocol.
type Member struct {
	Group       string  `json:"group"`
	Topic       string  `json:"topic"`
	Protocol    string  `json:"protocol"` // classic, consumer
	Assignor    string  `json:"assignor"` // range, cooperative-sticky
	Instance    *string `json:"instance"`
	Reset       string  `json:"reset"` // earliest, latest
	SessionMs   int     `json:"session_ms"`
	HeartbeatMs int     `json:"heartbeat_ms"`
}

// Call is one of an administrator; each has some of these.
type Call struct {
	Call       string            `json:"call"`
	Topic      string            `json:"topic"`
	Group      string            `json:"group"`
	Prefix     string            `json:"prefix"`
	Partition  int32             `json:"partition"`
	Partitions int32             `json:"partitions"`
	Total      int               `json:"total"`
	Replicas   int16             `json:"replicas"`
	Broker     int32             `json:"broker"`
	Spec       string            `json:"spec"`
	Configs    map[string]string `json:"configs"`
	Set        map[string]string `json:"set"`
	Delete     []string          `json:"delete"`
	Names      []string          `json:"names"`
	Offsets    map[int32]int64   `json:"offsets"`
	ClientID   string            `json:"client_id"`
	Key        string            `json:"key"`
	Value      float64           `json:"value"`
	User       string            `json:"user"`
	Iterations int32             `json:"iterations"`
}

// Pointers are values that may be null.
func Pointers(values map[string]string) map[string]*string {
	found := map[string]*string{}
	for name, value := range values {
		found[name] = &value
	}
	return found
}

// With are the names that begin so, in order.
func With(names []string, prefix string) []string {
	found := []string{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if strings.HasPrefix(name, prefix) {
			found = append(found, name)
		}
	}
	return found
}

var telling sync.Mutex

// Tell prints an event of a member, or an answer.
func Tell(event map[string]any) {
	telling.Lock()
	defer telling.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(event); err != nil {
		Fail(err)
	}
}

// Owned is what a member has, which is told whenever it changes.
type Owned struct {
	mutex      sync.Mutex
	partitions map[int32]bool
}

// Change adds and removes.
func (o *Owned) Change(added, removed []int32) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.partitions == nil {
		o.partitions = map[int32]bool{}
	}
	for _, partition := range added {
		o.partitions[partition] = true
	}
	for _, partition := range removed {
		delete(o.partitions, partition)
	}
	Tell(map[string]any{"assigned": append([]int32{}, slices.Sorted(maps.Keys(o.partitions))...)})
}

// Told are the words of the harness to a member.
func Told() <-chan string {
	words := make(chan string, 10)
	go func() {
		lines := bufio.NewScanner(input)
		for lines.Scan() {
			var said struct{ Do string }
			if err := json.Unmarshal(lines.Bytes(), &said); err != nil {
				Fail(err)
			}
			words <- said.Do
		}
	}()
	return words
}

func answerCalls(do func(Call) (any, error), name func(error) string) {
	lines := bufio.NewScanner(input)
	for lines.Scan() {
		var call Call
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			Fail(err)
		}
		result, err := do(call)
		switch {
		case errors.Is(err, ErrUnsupported):
			Tell(map[string]any{"unsupported": true})
		case err != nil:
			Tell(map[string]any{"error": name(err)})
		default:
			Tell(map[string]any{"result": result})
		}
	}
	if err := lines.Err(); err != nil {
		Fail(fmt.Errorf("reading calls: %w", err))
	}
}
