package models

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"time"
)

// OracleLock is the name of the oracle of locks.
const OracleLock = "lock/linearizable"

// Kinds of operation on a lock.
const (
	KindAcquire = "acquire" // input [Acquire]; ok: nil or [Granted]; fail: nil or [Held]
	KindRenew   = "renew"   // input [Renew]; ok: nil
	KindRelease = "release" // input [Release]; ok: nil; fail: nil or [Held]
)

// Acquire asks for a lock that nobody must hold.
type Acquire struct {
	Lock string `json:"lock,omitempty"`
	// Owner is who will hold it; "" is the client.
	Owner string `json:"owner,omitempty"`
	// LeaseNS is for how long at least, in ns from when it is granted; 0 is until released.
	LeaseNS int64 `json:"lease_ns,omitempty"`
}

func (a Acquire) String() string { return lockArguments(a.Lock, a.Owner, a.LeaseNS) }

// Renew asks to begin the lease anew.
type Renew struct {
	Lock    string `json:"lock,omitempty"`
	Owner   string `json:"owner,omitempty"`
	LeaseNS int64  `json:"lease_ns,omitempty"`
}

func (r Renew) String() string { return lockArguments(r.Lock, r.Owner, r.LeaseNS) }

// Release gives a lock back.
type Release struct {
	Lock  string `json:"lock,omitempty"`
	Owner string `json:"owner,omitempty"`
}

func (r Release) String() string { return lockArguments(r.Lock, r.Owner, 0) }

func lockArguments(lock, owner string, leaseNS int64) string {
	text := withName(lock, owner)
	if lock != "" && owner == "" {
		text = lock
	}
	if leaseNS > 0 {
		text = fmt.Sprintf("%s for %v", text, time.Duration(leaseNS))
	}
	return "(" + text + ")"
}

// Granted is the answer to [Acquire] with a fencing token, which grows from grant to grant.
type Granted struct {
	Token int64 `json:"token"`
}

func (g Granted) String() string { return fmt.Sprintf("token %d", g.Token) }

// Held is the answer that somebody else holds the lock.
type Held struct {
	Owner string `json:"owner"`
}

func (h Held) String() string { return "held by " + h.Owner }

// Locks is the oracle of locks with leases: nobody is granted a lock while somebody else holds
// it, nobody renews or releases one that he does not hold, and fencing tokens grow.
//
// A hold ends when it is released. Once its lease has run out it may end, and does when somebody
// else is granted the lock; until then the holder can still renew or release it, because systems
// differ in when they notice. Leases are measured by the times of the recording, CallNS and
// ReturnNS, and run from the moment of the grant, which lies between its call and its return. So
// recorder's and lock server's clocks may differ, but must run alike.
func Locks(h *History) Oracle {
	return Sequential[lockState]{Spec: lockSpec(), History: h}
}

// lockState is the state of a lock.
type lockState struct {
	owner string // "" is nobody
	// now is the earliest time at which the last operation can have happened, until the earliest
	// at which the lease can have run out. Both are 0 where leases do not matter. Everything
	// happens as early as it can, which leaves the most to what follows.
	now, until int64
	token      int64
}

func (s lockState) String() string {
	if s.owner == "" {
		return "free"
	}
	return "held by " + s.owner
}

func lockSpec() Spec[lockState] {
	return Spec[lockState]{
		Oracle: OracleLock,
		Object: func(op *Op) string {
			switch in := op.Input.(type) {
			case Acquire:
				return in.Lock
			case Renew:
				return in.Lock
			case Release:
				return in.Lock
			}
			return ""
		},
		Step:     func(s lockState, op *Op) (lockState, bool) { return lockStep(s, op, true) },
		ReadOnly: func(op *Op) bool { return op.Outcome == Fail },
		Check:    checkLock,
		prepare:  prepareLock,
	}
}

// ownerOf is who an operation is for.
func ownerOf(op *Op) string {
	owner := ""
	switch in := op.Input.(type) {
	case Acquire:
		owner = in.Owner
	case Renew:
		owner = in.Owner
	case Release:
		owner = in.Owner
	}
	if owner == "" {
		return fmt.Sprintf("client %d", op.Client)
	}
	return owner
}

// lockStep is the specification; timed says that leases matter.
func lockStep(s lockState, op *Op, timed bool) (lockState, bool) {
	owner := ownerOf(op)
	if op.Outcome == Fail {
		held := op.Output.(Held)
		return s, s.owner != "" && s.owner != owner && (held.Owner == "" || held.Owner == s.owner)
	}
	next := s
	end := int64(math.MaxInt64)
	if op.Outcome == Ok {
		end = op.ReturnNS
	}
	if timed {
		next.now = max(s.now, op.CallNS)
	}
	hold := func(leaseNS int64) {
		next.owner, next.until = owner, 0
		if timed {
			if next.until = math.MaxInt64; leaseNS > 0 && next.now < math.MaxInt64-leaseNS {
				next.until = next.now + leaseNS
			}
		}
	}
	switch in := op.Input.(type) {
	case Acquire:
		if s.owner != "" {
			if !timed || s.until == math.MaxInt64 {
				return s, false
			}
			next.now = max(next.now, s.until)
		}
		if out, ok := op.Output.(Granted); ok {
			if out.Token <= s.token {
				return s, false
			}
			next.token = out.Token
		}
		hold(in.LeaseNS)
	case Renew:
		if s.owner != owner {
			return s, false
		}
		hold(in.LeaseNS)
	case Release:
		if s.owner != owner {
			return s, false
		}
		next.owner, next.until = "", 0
	}
	return next, next.now <= end
}

var lockInputs = map[string]reflect.Type{
	KindAcquire: reflect.TypeFor[Acquire](), KindRenew: reflect.TypeFor[Renew](), KindRelease: reflect.TypeFor[Release](),
}

func checkLock(op *Op) error {
	if err := checkInput(op, lockInputs); err != nil {
		return err
	}
	_, granted := op.Output.(Granted)
	_, held := op.Output.(Held)
	switch {
	case op.Output == nil,
		granted && op.Outcome == Ok && op.Kind == KindAcquire,
		held && op.Outcome == Fail && op.Kind != KindRenew:
		return nil
	}
	return errOutput(op)
}

// prepareLock leaves time out of the state where nothing depends on it.
func prepareLock(ops []*Op, spec *Spec[lockState]) prepared[lockState] {
	timed := false
	for _, op := range ops {
		switch in := op.Input.(type) {
		case Acquire:
			timed = timed || in.LeaseNS > 0
		case Renew:
			timed = timed || in.LeaseNS > 0
		}
	}
	p := prepared[lockState]{ops: ops, step: spec.Step}
	if !timed {
		p.step = func(s lockState, op *Op) (lockState, bool) { return lockStep(s, op, false) }
	}
	return p
}

func lockModel() Model {
	return Model{
		Name: "lock",
		Doc:  "locks with leases and fencing tokens",
		Schema: Schema{
			Inputs:  lockInputs,
			Outputs: map[string]reflect.Type{"granted": reflect.TypeFor[Granted](), "held": reflect.TypeFor[Held]()},
		},
		Check:   checkLock,
		Jepsen:  lockFromJepsen,
		Oracles: func(h *History) []Oracle { return []Oracle{Locks(h)} },
	}
}

// lockFromJepsen takes :acquire and :release, by processes. The answer to an acquire is its
// fencing token, if it is a number.
func lockFromJepsen(e Entry) (kind string, input, output any, err error) {
	key := e.Key
	if k, _, ok := e.keyed(e.Value); ok {
		key = k
	}
	var token int64
	switch e.F {
	case KindAcquire:
		_, answer, _ := e.keyed(e.Answer)
		if e.Outcome == Ok && answer != "" && json.Unmarshal([]byte(answer), &token) == nil {
			output = Granted{token}
		}
		return e.F, Acquire{Lock: key}, output, nil
	case KindRelease:
		return e.F, Release{Lock: key}, nil, nil
	}
	return "", nil, nil, errFunction(e.F)
}
