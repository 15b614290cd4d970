package raftkv

import (
	"encoding/json"
	"fmt"
)

// Command is what a client asks for: "get", "put", or "cas", which puts Value if the key has Old.
type Command struct {
	// Session and Seq make a command that is sent twice take effect once: a session counts its
	// commands from 1, and sends none before the last was answered or given up.
	Session string `json:"session,omitempty"`
	Seq     uint64 `json:"seq,omitempty"`
	Op      string `json:"op,omitempty"`
	Key     string `json:"key,omitempty"`
	Value   string `json:"value,omitempty"`
	Old     string `json:"old,omitempty"`
}

// Result is what comes of a command: the key's value before it, and whether it did what it was to.
type Result struct {
	Value string `json:"value"`
	Done  bool   `json:"done"`
}

// Entry is one command in the log. One without an operation begins a leader's term.
type Entry struct {
	Term    uint64  `json:"term"`
	Command Command `json:"command"`
}

// The kinds of messages.
const (
	askVote    = "vote?"
	giveVote   = "vote"
	askAppend  = "append?"
	giveAppend = "append"
	askDo      = "do?"
	giveDo     = "do"
)

type message struct {
	Kind string `json:"kind"`
	From string `json:"from"` // the sender's address
	Term uint64 `json:"term,omitempty"`

	// Index and LogTerm are the last entry of a candidate's log, the entry before those to be
	// appended, or the last that is known to agree.
	Index   uint64  `json:"index,omitempty"`
	LogTerm uint64  `json:"log_term,omitempty"`
	Entries []Entry `json:"entries,omitempty"`
	Commit  uint64  `json:"commit,omitempty"`
	Yes     bool    `json:"yes,omitempty"`

	Command Command `json:"command,omitzero"`
	Result  Result  `json:"result,omitzero"`
	Leader  string  `json:"leader,omitempty"` // to a client that asked another
}

func encode(m message) []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("raftkv: a message that is not JSON: %v", err)) // it is plain data
	}
	return b
}
