// Package fakebroker is the HTTP control of fakebroker, in one file of the standard library.
//
//	kafka, err := fakebroker.Start("--clock", "manual", "--topic", "orders") // or Connect(url)
//	defer kafka.Stop()
//	... a client of kafka.BootstrapServers, or kafka.Brokers ...
//	kafka.Freeze("orders")
//	kafka.WaitForParked(fakebroker.M{"api": "Produce"})
//	kafka.Advance(30 * time.Second)
//	kafka.Expect(fakebroker.M{"topic": "orders", "error": "REQUEST_TIMED_OUT"})
//
// Bodies and responses are those of docs/http.md, as maps. A refused request returns an *Error.
package fakebroker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	startLimit = 20 * time.Second
	waitMs     = 10_000 // of the machine's clock, the limit of each wait
)

// M is a JSON object.
type M = map[string]any

// Error is the error response of the control.
type Error struct {
	Status  int
	Code    string `json:"code"`
	Message string `json:"message"`
	Member  string `json:"member"`
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Cluster is a running cluster.
type Cluster struct {
	URL              string
	BootstrapServers string   // with commas between them
	Brokers          []string // each of them

	token   string
	prefix  string
	process *exec.Cmd
	ended   chan error
	owner   *Cluster
	id      string
}

// Start runs `fakebroker serve` on free ports, with these options added. FAKEBROKER in the environment names another
// command, as in FAKEBROKER="python -m fakebroker". It ends with Stop, and with this process, also if that is killed.
func Start(options ...string) (*Cluster, error) {
	words := strings.Fields(os.Getenv("FAKEBROKER"))
	if len(words) == 0 {
		words = []string{"fakebroker"}
	}
	folder, err := os.MkdirTemp("", "fakebroker-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "ready.json")
	words = append(words, "serve", "--exit-with-parent", "--port", "0", "--control-port", "0", "--ready-file", file)
	process := exec.Command(words[0], append(words[1:], options...)...)
	var told bytes.Buffer
	process.Stderr = &told
	if _, err := process.StdinPipe(); err != nil { // it ends when this process ends
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	limit := time.After(startLimit)
	for {
		if text, err := os.ReadFile(file); err == nil {
			var facts struct {
				URL string `json:"control_url"`
			}
			if err := json.Unmarshal(text, &facts); err != nil {
				return nil, err
			}
			kafka, err := Connect(facts.URL, "")
			if err != nil {
				_ = process.Process.Kill()
				return nil, err
			}
			kafka.process, kafka.ended = process, ended
			return kafka, nil
		}
		select {
		case err := <-ended:
			return nil, fmt.Errorf("%s ended: %v: %s", words[0], err, strings.TrimSpace(told.String()))
		case <-limit:
			_ = process.Process.Kill()
			return nil, fmt.Errorf("%s was not ready within %v", words[0], startLimit)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Connect connects to a running cluster by its control_url, and its token or "".
func Connect(address, token string) (*Cluster, error) {
	kafka := &Cluster{URL: strings.TrimSuffix(address, "/"), token: token, prefix: "/v1"}
	return kafka, kafka.look()
}

func (c *Cluster) look() error {
	cluster, err := c.Ask("GET", "/cluster", nil)
	if err == nil {
		c.BootstrapServers, _ = cluster["bootstrap_servers"].(string)
		c.Brokers = strings.Split(c.BootstrapServers, ",")
	}
	return err
}

// Ask sends a request to the control. path is below /v1, as in Ask("PUT", "/quotas", M{...}).
func (c *Cluster) Ask(method, path string, body any) (M, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequest(method, c.URL+c.prefix+path, content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= 300 {
		var refused struct {
			Error Error `json:"error"`
		}
		if err := json.Unmarshal(text, &refused); err != nil {
			return nil, fmt.Errorf("%s %s: %s", method, path, answer.Status)
		}
		refused.Error.Status = answer.StatusCode
		return nil, &refused.Error
	}
	found := M{}
	if len(text) > 0 {
		err = json.Unmarshal(text, &found)
	}
	return found, err
}

func (c *Cluster) do(method, path string, body any) error {
	_, err := c.Ask(method, path, body)
	return err
}

// Reset resets the cluster to its state at the start, on the same ports.
func (c *Cluster) Reset() error { return c.do("POST", "/reset", nil) }

// CreateTopic creates a topic. more replaces defaults, as in M{"partitions": 3}.
func (c *Cluster) CreateTopic(name string, more M) error {
	body := M{"name": name}
	for key, value := range more {
		body[key] = value
	}
	return c.do("POST", "/topics", body)
}

// DeleteTopic deletes a topic.
func (c *Cluster) DeleteTopic(name string) error {
	return c.do("DELETE", "/topics/"+url.PathEscape(name), nil)
}

// Followers sets what followers do, as in M{"behaviour": "lagging", "lag_ms": 200, "topic": "orders"}.
func (c *Cluster) Followers(body M) error { return c.do("PUT", "/followers", body) }

// Freeze stops all followers of a topic.
func (c *Cluster) Freeze(topic string) error {
	return c.Followers(M{"behaviour": "frozen", "topic": topic})
}

// Resume undoes Freeze.
func (c *Cluster) Resume(topic string) error {
	return c.Followers(M{"behaviour": "resume", "topic": topic})
}

// Broker stops, starts or otherwise changes a broker. docs/http.md lists the actions.
func (c *Cluster) Broker(id int, action string) error {
	return c.do("POST", fmt.Sprintf("/brokers/%d/%s", id, action), nil)
}

// MoveLeader makes an in-sync replica the leader.
func (c *Cluster) MoveLeader(topic string, partition, broker int) error {
	return c.do("PUT", fmt.Sprintf("/partitions/%s/%d/leader", url.PathEscape(topic), partition), M{"broker": broker})
}

// Advance advances the clock of the cluster. On return all due responses are written.
func (c *Cluster) Advance(by time.Duration) error {
	return c.do("POST", "/clock/advance", M{"ms": by.Milliseconds()})
}

// AdvanceToNextDeadline returns how far the next deadline was, and whether there was one.
func (c *Cluster) AdvanceToNextDeadline() (time.Duration, bool, error) {
	found, err := c.Ask("POST", "/clock/advance", M{"to": "next_deadline"})
	ms, isThere := found["advanced_ms"].(float64)
	return time.Duration(ms) * time.Millisecond, isThere, err
}

// WaitForParked waits until so many requests that match are parked ("count", 1).
func (c *Cluster) WaitForParked(which M) error {
	found, err := c.Ask("POST", "/purgatory/wait", waiting(which))
	if err == nil && found["matches"] != true {
		err = fmt.Errorf("%v requests wait, and not as many as were to", found["count"])
	}
	return err
}

// WaitForGroup waits for the state of a group, as in WaitForGroup("billing", M{"state": "Stable", "members": 2}).
func (c *Cluster) WaitForGroup(group string, is M) error {
	body := waiting(is)
	body["group_id"] = group
	found, err := c.Ask("POST", "/groups/wait", body)
	if err == nil && found["matches"] != true {
		err = fmt.Errorf("group %s: %v", group, found["reason"])
	}
	return err
}

// Fault is an installed fault.
type Fault struct {
	ID      string
	cluster *Cluster
}

// Fault installs a fault as in docs/faults.md: M{"when": M{"api": "Produce"}, "do": "disconnect"}, or
// M{"preset": "slow_disk", "broker": 1, "ms": 40}.
func (c *Cluster) Fault(fault M) (*Fault, error) {
	found, err := c.Ask("POST", "/faults", fault)
	id, _ := found["id"].(string)
	return &Fault{id, c}, err
}

// Hold is a barrier: requests that match wait until they are released.
func (c *Cluster) Hold(when M) (*Fault, error) {
	return c.Fault(M{"when": when, "do": "hold", "times": "every_time"})
}

// Wait waits, as in Wait(M{"hits": 1}) or, for a barrier, Wait(M{"held": 3}).
func (f *Fault) Wait(what M) error {
	found, err := f.cluster.Ask("POST", "/faults/"+f.ID+"/wait", waiting(what))
	if err == nil && found["matched"] != true {
		err = fmt.Errorf("fault %s has %v hits and holds %v", f.ID, found["hits"], found["held"])
	}
	return err
}

// Release releases all requests that the barrier holds.
func (f *Fault) Release() error { return f.cluster.do("POST", "/faults/"+f.ID+"/release", M{}) }

// Remove removes the fault and releases the requests that it holds.
func (f *Fault) Remove() error { return f.cluster.do("DELETE", "/faults/"+f.ID, nil) }

// Expect returns an error with what was found, unless Produce requests got this response. "timeout_ms" waits.
func (c *Cluster) Expect(what M) error {
	found, err := c.Ask("POST", "/journal/expect", what)
	if err == nil && found["matches"] != true {
		err = fmt.Errorf("%v", found["reason"])
	}
	return err
}

// NewCluster creates another cluster in the same process. It ends with its lease.
func (c *Cluster) NewCluster(options M) (*Cluster, error) {
	made, err := c.Ask("POST", "/clusters", options)
	if err != nil {
		return nil, err
	}
	id, _ := made["id"].(string)
	kafka := &Cluster{URL: c.URL, token: c.token, prefix: "/v1/clusters/" + id, owner: c, id: id}
	return kafka, kafka.look()
}

// Stop ends a started process or deletes a created cluster. A connected cluster goes on.
func (c *Cluster) Stop() error {
	if c.owner != nil {
		return c.owner.do("DELETE", "/clusters/"+c.id, nil)
	}
	if c.process == nil {
		return nil
	}
	if err := c.process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return <-c.ended
}

func waiting(body M) M {
	found := M{"timeout_wall_ms": waitMs}
	for key, value := range body {
		found[key] = value
	}
	return found
}
