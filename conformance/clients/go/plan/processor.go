package plan

import (
	"encoding/json"
	"os"
)

// Processor consumes, transforms and produces exactly once: who it is, from where to where. Die is the step at which it
// ends before it has consumed anything.
type Processor struct {
	Group    string  `json:"group"`
	Instance string  `json:"instance"`
	ID       string  `json:"id"`
	In       string  `json:"in"`
	Out      string  `json:"out"`
	Die      *string `json:"die"`
}

const dead = 9

// Steps are where a processor is, and the one after which it dies.
type Steps struct {
	Die    *string
	Aborts bool
}

// Consumed tells of an input, and waits for the word to go on.
func (s *Steps) Consumed(value string) {
	Tell(map[string]any{"consumed": value})
	var said struct {
		Do  string
		Die *string
	}
	if err := json.Unmarshal(readLine(), &said); err != nil {
		Fail(err)
	}
	s.Die, s.Aborts = said.Die, said.Do == "abort"
	s.Reached("consumed")
}

// Reached ends the program if that is its step: nothing is closed, nobody is told.
func (s *Steps) Reached(step string) {
	if s.Die != nil && *s.Die == step {
		os.Exit(dead)
	}
}
