// Package plan is what the Go programs have in common: the plan they read, the pause, the report they print.
package plan

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

// Header is a name and a value; a nil value is null.
type Header struct {
	Name  string
	Value []byte
}

// UnmarshalJSON reads ["name", "base64" or null].
func (h *Header) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&h.Name, &h.Value})
}

// Record is one record to send; a nil key or value is null.
type Record struct {
	Partition   int32    `json:"partition"`
	Key         []byte   `json:"key"`
	Value       []byte   `json:"value"`
	Headers     []Header `json:"headers"`
	TimestampMs int64    `json:"timestamp_ms"`
}

// Job is one topic, one way to send, and the records.
type Job struct {
	Name        string   `json:"name"`
	Topic       string   `json:"topic"`
	Acks        int16    `json:"acks"`
	Idempotent  bool     `json:"idempotent"`
	Codec       string   `json:"codec"`
	LingerMs    int      `json:"linger_ms"`
	TimeoutMs   int      `json:"timeout_ms"`
	Retries     bool     `json:"retries"`
	PauseBefore *int     `json:"pause_before"`
	Records     []Record `json:"records"`

	TransactionalID string `json:"transactional_id"` // empty: none
}

// Timeout is that of one produce request, as the broker is told.
func (j Job) Timeout() time.Duration { return time.Duration(j.TimeoutMs) * time.Millisecond }

// Linger is how long a batch waits for more records.
func (j Job) Linger() time.Duration { return time.Duration(j.LingerMs) * time.Millisecond }

// Parts are the records before the pause, if there is one, and those after it.
func (j Job) Parts() [][]Record {
	if j.PauseBefore == nil {
		return [][]Record{j.Records}
	}
	return [][]Record{j.Records[:*j.PauseBefore], j.Records[*j.PauseBefore:]}
}

// Result is what the client said of one record: where it is, or the error.
type Result struct {
	Partition *int32 `json:"partition,omitempty"`
	Offset    *int64 `json:"offset,omitempty"`
	Error     string `json:"error,omitempty"`
}

// Delivered is the result of a record that has its place.
func Delivered(partition int32, offset int64) Result {
	return Result{Partition: &partition, Offset: &offset}
}

// Ended is the result of the end of a transaction.
func Ended(err error, name func(error) string) Result {
	if err != nil {
		return Result{Error: name(err)}
	}
	return Result{}
}

type jobReport struct {
	Name    string   `json:"name"`
	Results []Result `json:"results"`
}

var input = bufio.NewReader(os.Stdin)

func readLine() []byte {
	line, err := input.ReadBytes('\n')
	if err != nil {
		Fail(err)
	}
	return line
}

// Pause tells the harness that everything up to here is delivered, and waits for its word.
func Pause() {
	fmt.Println("paused")
	readLine()
}

// Fail ends the program: the client cannot be used at all.
func Fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// Program is what a client can do.
type Program struct {
	Client, Module string
	Produce        func(bootstrap string, job Job) []Result
	Join           func(bootstrap string, member Member)
	Administer     func(bootstrap string) func(Call) (any, error)
	Process        func(bootstrap string, processor Processor)
	Name           func(error) string // of an error
}

// Run reads the plan, does what it says and tells of it.
func Run(program Program) {
	var given struct {
		Bootstrap     string     `json:"bootstrap"`
		Jobs          []Job      `json:"jobs"`
		Member        *Member    `json:"member"`
		Administrator bool       `json:"administrator"`
		Processor     *Processor `json:"processor"`
	}
	if err := json.Unmarshal(readLine(), &given); err != nil {
		Fail(err)
	}
	if given.Member != nil {
		program.Join(given.Bootstrap, *given.Member)
		return
	}
	if given.Processor != nil && program.Process != nil {
		program.Process(given.Bootstrap, *given.Processor)
		return
	}
	if given.Administrator {
		answerCalls(program.Administer(given.Bootstrap), program.Name)
		return
	}
	jobs := []jobReport{}
	for _, job := range given.Jobs {
		jobs = append(jobs, jobReport{job.Name, program.Produce(given.Bootstrap, job)})
	}
	report := map[string]any{"client": program.Client, "version": version(program.Module), "jobs": jobs}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		Fail(err)
	}
}

func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version
		}
	}
	return "unknown"
}
