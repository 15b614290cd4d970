package raftkv

import (
	"encoding/json"

	"github.com/simrun-dev/simrun/system/host"
)

// Command is what a client asks for: "get", "put", or "cas", which puts Value if the key has Old.
type Command struct {
	// Session and Seq make a command that is sent twice take effect once: a session counts its
	// commands from 1, and sends none before the last was answered or given up.
	Session         string
	Seq             uint64
	Op              string
	Key, Value, Old string
}

// Result is what comes of a command: the key's value before it, and whether it did what it was to.
type Result struct {
	Value string
	Done  bool
}

// Entry is one command in the log. One without an operation begins a leader's term.
type Entry struct {
	Term    uint64
	Command Command
}

// The kinds of messages: questions, and the answers to them.
const (
	askVote, giveVote     = "vote?", "vote"
	askAppend, giveAppend = "append?", "append"
	askDo, giveDo         = "do?", "do"
)

type message struct {
	Kind string
	From string // the sender's address
	Term uint64
	Yes  bool

	// Index and LogTerm are the last entry of a candidate's log, the entry before those to be
	// appended, or the last that is known to agree.
	Index   uint64
	LogTerm uint64
	Entries []Entry `json:",omitempty"`
	Commit  uint64

	Command Command `json:",omitzero"`
	Result  Result  `json:",omitzero"`
	Leader  string  `json:",omitempty"` // to a client that asked another
}

// send sends a message; what is lost is sent again.
func send(socket host.Socket, to string, m message) {
	if data, err := json.Marshal(m); err == nil { // it is plain data
		_ = socket.SendTo(to, data)
	}
}
