package models

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// did is an operation with a known answer, lost one whose outcome is unknown, refused one that
// failed. Times are positions.
func did(client int, call, ret uint64, kind string, input, output any) *Op {
	return &Op{
		Client: client, Kind: kind, Input: input, Output: output, Outcome: Ok,
		Call: call, Return: ret, CallNS: int64(call), ReturnNS: int64(ret),
	}
}

func lost(client int, call uint64, kind string, input any) *Op {
	op := did(client, call, Open, kind, input, nil)
	op.Outcome, op.ReturnNS = Unknown, 1<<62
	return op
}

func refused(client int, call, ret uint64, kind string, input, output any) *Op {
	op := did(client, call, ret, kind, input, output)
	op.Outcome = Fail
	return op
}

func historyOf(ops ...*Op) *History {
	h := NewHistory()
	for i, op := range ops {
		op.ID = i + 1
	}
	h.ops = ops
	h.adopt()
	return h
}

type objectCase struct {
	name string
	ops  []*Op
	// says is part of what must be said against the history; "" if it is legal.
	says string
}

func requireVerdicts(t *testing.T, model string, cases []objectCase) {
	t.Helper()
	m, err := Lookup(model)
	require.NoError(t, err)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, j := range m.Judge(historyOf(c.ops...), Bounds{}) {
				if c.says == "" {
					require.Equal(t, VerdictPass, j.Verdict, "%v", j.Violations)
					continue
				}
				require.Equal(t, VerdictFail, j.Verdict)
				require.Contains(t, j.Violations[0].Message, c.says)
				require.Equal(t, model+"/linearizable", j.Violations[0].Oracle)
			}
		})
	}
}

func TestRegister(t *testing.T) {
	write := func(v int64) any { return Put{"r", Int(v)} }
	read := Get{"r"}
	requireVerdicts(t, "register", []objectCase{
		{"null at first", []*Op{did(1, 1, 2, KindRead, read, Found{})}, ""},
		{"concurrent writes in either order", []*Op{
			did(1, 1, 5, KindWrite, write(1), nil), did(2, 2, 4, KindWrite, write(2), nil), did(3, 6, 7, KindRead, read, Found{"1"}),
		}, ""},
		{"unknown write shows late", []*Op{
			lost(1, 1, KindWrite, write(1)), did(2, 2, 3, KindRead, read, Found{}), did(2, 4, 5, KindRead, read, Found{"1"}),
		}, ""},
		{"unknown write never shows", []*Op{lost(1, 1, KindWrite, write(1)), did(2, 2, 3, KindRead, read, Found{})}, ""},
		{"keys are apart", []*Op{
			did(1, 1, 2, KindWrite, write(1), nil), did(1, 3, 4, KindRead, Get{"other"}, Found{}),
		}, ""},
		{"stale read", []*Op{
			did(1, 1, 2, KindWrite, write(1), nil), did(2, 3, 4, KindRead, read, Found{}),
		}, "#2 client 2 read(r) = ok null, @3 to @4"},
		{"value from nowhere", []*Op{did(1, 1, 2, KindRead, read, Found{"7"})}, "nothing that happened made the value 7"},
		{"value from the future", []*Op{
			did(1, 1, 2, KindRead, read, Found{"7"}), did(2, 3, 4, KindWrite, write(7), nil),
		}, "nothing had made the value 7 by then"},
		{"failed write shows", []*Op{
			refused(1, 1, 2, KindWrite, write(1), nil), did(2, 3, 4, KindRead, read, Found{"1"}),
		}, "nothing that happened made the value 1"},
		{"new, then old again", []*Op{
			did(1, 1, 2, KindWrite, write(1), nil), did(2, 3, 9, KindWrite, write(2), nil),
			did(3, 4, 5, KindRead, read, Found{"2"}), did(4, 6, 7, KindRead, read, Found{"1"}),
		}, "Smallest failing window"},
	})
}

func TestCASRegister(t *testing.T) {
	cas := func(from, to Value) any { return CompareAndSet{"", from, to} }
	requireVerdicts(t, "cas-register", []objectCase{
		{"chain", []*Op{
			did(1, 1, 2, KindCAS, cas("", "1"), nil), did(2, 3, 4, KindCAS, cas("1", "2"), nil), did(1, 5, 6, KindRead, Get{}, Found{"2"}),
		}, ""},
		{"mismatch", []*Op{
			did(1, 1, 2, KindWrite, Put{"", "1"}, nil), refused(2, 3, 4, KindCAS, cas("2", "3"), Mismatch{}),
		}, ""},
		{"failure that tells nothing", []*Op{
			did(1, 1, 2, KindWrite, Put{"", "1"}, nil), refused(2, 3, 4, KindCAS, cas("1", "3"), nil),
		}, ""},
		{"unknown ones lead to each other", []*Op{
			lost(1, 1, KindCAS, cas("", "1")), lost(2, 2, KindCAS, cas("1", "2")), did(3, 3, 4, KindRead, Get{}, Found{"2"}),
		}, ""},
		{"two win", []*Op{
			did(1, 1, 5, KindCAS, cas("", "1"), nil), did(2, 2, 6, KindCAS, cas("", "2"), nil),
		}, "no order of the operations explains"},
		{"wins against another value", []*Op{
			did(1, 1, 2, KindWrite, Put{"", "1"}, nil), did(2, 3, 4, KindWrite, Put{"", "2"}, nil), did(1, 5, 6, KindCAS, cas("1", "3"), nil),
		}, "#2 client 2 write(2) = ok"},
		{"mismatch though it matched", []*Op{
			did(1, 1, 2, KindWrite, Put{"", "1"}, nil), refused(2, 3, 4, KindCAS, cas("1", "3"), Mismatch{}),
		}, "#1 client 1 write(1) = ok"},
		{"unknown one used twice", []*Op{
			lost(1, 1, KindCAS, cas("", "1")), did(2, 2, 3, KindRead, Get{}, Found{"1"}),
			did(2, 4, 5, KindWrite, Put{"", "2"}, nil), did(2, 6, 7, KindRead, Get{}, Found{"1"}),
		}, "#4 client 2 read() = ok 1"},
	})
}

func TestKV(t *testing.T) {
	put := func(v Value) any { return Put{"k", v} }
	app := func(v Value) any { return Append{"k", v} }
	get := Get{"k"}
	requireVerdicts(t, "kv", []objectCase{
		{"appends", []*Op{
			did(1, 1, 2, KindAppend, app(`"a"`), nil), did(1, 3, 4, KindAppend, app(`"b\n"`), nil), did(2, 5, 6, KindGet, get, Found{`"ab\n"`}),
		}, ""},
		{"nothing may read as an empty string", []*Op{
			did(1, 1, 2, KindGet, get, Found{`""`}), did(1, 3, 4, KindPut, put("1"), nil),
			did(1, 5, 6, KindDelete, Delete{"k"}, nil), did(1, 7, 8, KindGet, get, Found{}),
		}, ""},
		{"unknown append in the middle", []*Op{
			lost(1, 1, KindAppend, app(`"b"`)), did(2, 2, 3, KindAppend, app(`"a"`), nil),
			did(2, 4, 5, KindGet, get, Found{`"a"`}), did(2, 6, 7, KindAppend, app(`"c"`), nil), did(2, 8, 9, KindGet, get, Found{`"abc"`}),
		}, ""},
		{"delete and put race", []*Op{
			did(1, 1, 2, KindPut, put("1"), nil), did(1, 3, 9, KindDelete, Delete{"k"}, nil), did(2, 4, 8, KindPut, put("2"), nil),
			did(3, 10, 11, KindGet, get, Found{}),
		}, ""},
		{"append lost", []*Op{
			did(1, 1, 2, KindAppend, app(`"a"`), nil), did(1, 3, 4, KindAppend, app(`"b"`), nil), did(2, 5, 6, KindGet, get, Found{`"b"`}),
		}, "It fits no state that the object can have been in: "},
		{"deleted value is back", []*Op{
			did(1, 1, 2, KindPut, put("1"), nil), did(1, 3, 4, KindDelete, Delete{"k"}, nil), did(2, 5, 6, KindGet, get, Found{"1"}),
		}, "#2 client 1 delete(k)"},
		{"two orders at once", []*Op{
			did(1, 1, 2, KindAppend, app(`"a"`), nil), did(2, 1, 2, KindAppend, app(`"b"`), nil),
			did(1, 3, 4, KindGet, get, Found{`"ab"`}), did(2, 3, 4, KindGet, get, Found{`"ba"`}),
		}, "Smallest failing window: @3 to @4"},
		{"append to a number", []*Op{
			did(1, 1, 2, KindPut, put("1"), nil), did(1, 3, 4, KindAppend, app(`"a"`), nil),
		}, "#2 client 1 append(k, \"a\")"},
	})
}

func TestSet(t *testing.T) {
	add := func(e Value) any { return AddElement{"", e} }
	remove := func(e Value) any { return RemoveElement{"", e} }
	members := func(e ...Value) any { return Members{e} }
	requireVerdicts(t, "set", []objectCase{
		{"growing", []*Op{
			did(1, 1, 2, KindAdd, add("1"), nil), lost(2, 1, KindAdd, add("2")),
			did(1, 3, 4, KindRead, ReadSet{}, members("1")), did(1, 5, 6, KindRead, ReadSet{}, members("2", "1")),
		}, ""},
		{"removed and read", []*Op{
			did(1, 1, 2, KindAdd, add("1"), Changed{true}), did(1, 3, 4, KindRemove, remove("1"), Changed{true}),
			did(1, 5, 6, KindRead, ReadSet{}, members()),
		}, ""},
		{"elements apart", []*Op{
			did(1, 1, 2, KindAdd, add("1"), nil), did(1, 3, 4, KindContains, ContainsElement{"", "2"}, Contained{false}),
			did(1, 5, 6, KindContains, ContainsElement{"", "1"}, Contained{true}),
		}, ""},
		{"lost add", []*Op{
			did(1, 1, 2, KindAdd, add("1"), nil), did(1, 3, 4, KindRead, ReadSet{}, members()),
		}, "1 is missing, though this had returned before"},
		{"reads that cross", []*Op{
			did(1, 1, 9, KindAdd, add("1"), nil), did(2, 1, 9, KindAdd, add("2"), nil),
			did(3, 2, 8, KindRead, ReadSet{}, members("1")), did(4, 2, 8, KindRead, ReadSet{}, members("2")),
		}, "another read has it the other way round"},
		{"never added", []*Op{did(3, 2, 8, KindRead, ReadSet{}, members("1"))}, "nothing ever added 1"},
		{"read before the add", []*Op{
			did(3, 1, 2, KindRead, ReadSet{}, members("1")), did(1, 3, 4, KindAdd, add("1"), nil),
		}, "it returned before this was called"},
		{"removed and still there", []*Op{
			did(1, 1, 2, KindAdd, add("1"), nil), did(1, 3, 4, KindRemove, remove("1"), nil),
			did(1, 5, 6, KindContains, ContainsElement{"", "1"}, Contained{true}),
		}, "element 1: no order"},
		{"reads that cross, with a removal about", []*Op{
			did(1, 1, 9, KindAdd, add("1"), nil), did(2, 1, 9, KindAdd, add("2"), nil), did(5, 1, 9, KindRemove, remove("3"), nil),
			did(3, 2, 8, KindRead, ReadSet{}, members("1")), did(4, 2, 8, KindRead, ReadSet{}, members("2")),
		}, "no order of the operations explains"},
		{"added twice as new", []*Op{
			did(1, 1, 2, KindAdd, add("1"), Changed{true}), did(1, 3, 4, KindAdd, add("1"), Changed{true}),
		}, "changed"},
	})
}

func TestQueue(t *testing.T) {
	enq := func(v int64) any { return Enqueue{"", Int(v)} }
	item := func(v int64) any { return Item{Int(v)} }
	requireVerdicts(t, "queue", []objectCase{
		{"in order", []*Op{
			did(1, 1, 2, KindEnqueue, enq(1), nil), did(1, 3, 4, KindEnqueue, enq(2), nil),
			did(2, 5, 6, KindDequeue, Dequeue{}, item(1)), did(2, 7, 8, KindDequeue, Dequeue{}, item(2)),
			did(2, 9, 10, KindDequeue, Dequeue{}, EmptyQueue{}),
		}, ""},
		{"unknown enqueue taken", []*Op{lost(1, 1, KindEnqueue, enq(1)), did(2, 5, 6, KindDequeue, Dequeue{}, item(1))}, ""},
		{"unknown dequeue took it", []*Op{
			did(1, 1, 2, KindEnqueue, enq(1), nil), did(1, 3, 4, KindEnqueue, enq(2), nil), lost(3, 1, KindDequeue, Dequeue{}),
			did(2, 5, 6, KindDequeue, Dequeue{}, item(2)),
		}, ""},
		{"same value twice", []*Op{
			did(1, 1, 2, KindEnqueue, enq(1), nil), did(1, 3, 4, KindEnqueue, enq(1), nil),
			did(2, 5, 6, KindDequeue, Dequeue{}, item(1)), did(2, 7, 8, KindDequeue, Dequeue{}, item(1)),
		}, ""},
		{"out of order", []*Op{
			did(1, 1, 2, KindEnqueue, enq(1), nil), did(1, 3, 4, KindEnqueue, enq(2), nil),
			did(2, 5, 6, KindDequeue, Dequeue{}, item(2)), did(2, 7, 8, KindDequeue, Dequeue{}, item(1)),
		}, "1 was enqueued before 2, which had been dequeued before this was called"},
		{"left behind", []*Op{
			did(1, 1, 2, KindEnqueue, enq(1), nil), did(1, 3, 4, KindEnqueue, enq(2), nil),
			did(2, 5, 6, KindDequeue, Dequeue{}, item(2)), lost(3, 7, KindDequeue, Dequeue{}),
		}, "1 was enqueued before it and never dequeued"},
		{"taken twice", []*Op{
			did(1, 1, 2, KindEnqueue, enq(1), nil), did(2, 5, 6, KindDequeue, Dequeue{}, item(1)), did(3, 5, 6, KindDequeue, Dequeue{}, item(1)),
		}, "1 was dequeued 2 times and enqueued 1 times"},
		{"from nowhere", []*Op{did(2, 5, 6, KindDequeue, Dequeue{}, item(1))}, "nothing ever enqueued 1"},
		{"empty though one after the other was in it", []*Op{
			did(1, 1, 2, KindEnqueue, enq(1), nil), did(1, 4, 5, KindEnqueue, enq(2), nil),
			did(2, 6, 7, KindDequeue, Dequeue{}, item(1)), did(3, 3, 9, KindDequeue, Dequeue{}, EmptyQueue{}),
			did(2, 10, 11, KindDequeue, Dequeue{}, item(2)),
		}, "the queue was not empty at any time while it ran"},
		{"same value out of order", []*Op{
			did(1, 1, 2, KindEnqueue, enq(1), nil), did(1, 3, 4, KindEnqueue, enq(2), nil), did(1, 5, 6, KindEnqueue, enq(1), nil),
			did(2, 7, 8, KindDequeue, Dequeue{}, item(1)), did(2, 9, 10, KindDequeue, Dequeue{}, item(1)),
		}, "#5 client 2 dequeue() = ok 1"},
	})
}

func TestCounter(t *testing.T) {
	add := func(n int64) any { return Add{"", n} }
	requireVerdicts(t, "counter", []objectCase{
		{"adds up", []*Op{
			did(1, 1, 2, KindAdd, add(1), nil), did(1, 3, 4, KindAdd, add(1), Count{2}), did(2, 5, 6, KindRead, ReadCounter{}, Count{2}),
		}, ""},
		{"unknown addition shows late", []*Op{
			lost(1, 1, KindAdd, add(1)), did(2, 3, 4, KindRead, ReadCounter{}, Count{0}), did(2, 5, 6, KindRead, ReadCounter{}, Count{1}),
		}, ""},
		{"amounts that differ", []*Op{
			did(1, 1, 9, KindAdd, add(5), nil), did(2, 1, 9, KindAdd, add(-2), nil), did(3, 2, 3, KindRead, ReadCounter{}, Count{-2}),
			did(3, 10, 11, KindRead, ReadCounter{}, Count{3}),
		}, ""},
		{"lost addition", []*Op{
			did(1, 1, 2, KindAdd, add(1), nil), did(2, 3, 4, KindRead, ReadCounter{}, Count{0}),
		}, "it does not count an addition that had returned before it was called"},
		{"goes back", []*Op{
			lost(1, 1, KindAdd, add(1)), did(2, 3, 4, KindRead, ReadCounter{}, Count{1}), did(2, 5, 6, KindRead, ReadCounter{}, Count{0}),
		}, "it is told of fewer than 1 additions"},
		{"more than was added", []*Op{did(2, 3, 4, KindRead, ReadCounter{}, Count{1})}, "only 0 additions"},
		{"two are told the same", []*Op{
			did(1, 1, 2, KindAdd, add(1), Count{1}), did(2, 1, 2, KindAdd, add(1), Count{1}),
		}, "it happened, and no answers leave room for it"},
		{"out of range", []*Op{
			did(1, 1, 2, KindAdd, add(5), nil), did(1, 3, 9, KindAdd, add(-2), nil), did(2, 4, 5, KindRead, ReadCounter{}, Count{1}),
		}, "the counter can only have stood between 3 and 5 then"},
		{"no such sum", []*Op{
			did(1, 1, 2, KindAdd, add(5), nil), did(1, 3, 9, KindAdd, add(-2), nil), did(2, 4, 5, KindRead, ReadCounter{}, Count{4}),
		}, "#3 client 2 read() = ok 4"},
	})
}

func TestLock(t *testing.T) {
	acquire := func(owner string, lease int64) any { return Acquire{"", owner, lease} }
	release := func(owner string) any { return Release{"", owner} }
	requireVerdicts(t, "lock", []objectCase{
		{"one after the other", []*Op{
			did(1, 1, 2, KindAcquire, acquire("a", 0), Granted{3}), did(1, 3, 4, KindRelease, release("a"), nil),
			did(2, 5, 6, KindAcquire, acquire("b", 0), Granted{4}),
		}, ""},
		{"unknown release", []*Op{
			did(1, 1, 2, KindAcquire, acquire("", 0), nil), lost(1, 3, KindRelease, release("")), did(2, 5, 6, KindAcquire, acquire("", 0), nil),
		}, ""},
		{"lease ran out", []*Op{
			did(1, 1, 9, KindAcquire, acquire("a", 10), nil), did(2, 10, 11, KindAcquire, acquire("b", 10), nil),
		}, ""},
		{"refused by the holder", []*Op{
			did(1, 1, 2, KindAcquire, acquire("a", 0), nil), refused(2, 3, 4, KindAcquire, acquire("b", 0), Held{"a"}),
		}, ""},
		{"renewed after the lease, while nobody wanted it", []*Op{
			did(1, 1, 2, KindAcquire, acquire("a", 10), nil), did(1, 30, 31, KindRenew, Renew{"", "a", 10}, nil),
			refused(2, 32, 33, KindAcquire, acquire("b", 10), Held{"a"}), did(2, 41, 42, KindAcquire, acquire("b", 10), nil),
		}, ""},
		{"two holders", []*Op{
			did(1, 1, 2, KindAcquire, acquire("a", 0), nil), did(2, 3, 4, KindAcquire, acquire("b", 0), nil),
		}, "#1 client 1 acquire(a) = ok"},
		{"lease still runs", []*Op{
			did(1, 1, 2, KindAcquire, acquire("a", 10), nil), did(2, 3, 10, KindAcquire, acquire("b", 10), nil),
		}, "#2 client 2 acquire(b for 10ns) = ok"},
		{"renewal forgotten", []*Op{
			did(1, 1, 2, KindAcquire, acquire("a", 10), nil), did(1, 9, 10, KindRenew, Renew{"", "a", 10}, nil),
			did(2, 12, 13, KindAcquire, acquire("b", 10), nil),
		}, "renew(a for 10ns) = ok"},
		{"released by another", []*Op{
			did(1, 1, 2, KindAcquire, acquire("a", 0), nil), did(2, 3, 4, KindRelease, release("b"), nil),
		}, "release(b) = ok"},
		{"token goes back", []*Op{
			did(1, 1, 2, KindAcquire, acquire("a", 0), Granted{3}), did(1, 3, 4, KindRelease, release("a"), nil),
			did(2, 5, 6, KindAcquire, acquire("b", 0), Granted{3}),
		}, "token 3"},
		{"refused by nobody", []*Op{refused(2, 3, 4, KindAcquire, acquire("b", 0), Held{"a"})}, "held by a"},
	})
}

// What was recorded with types that a model does not have is said, and never passes.
func TestWronglyRecorded(t *testing.T) {
	for model, cases := range map[string][]struct {
		op   *Op
		says string
	}{
		"register": {
			{did(1, 1, 2, KindCAS, CompareAndSet{}, nil), `is of kind "cas", which the model does not have`},
			{did(1, 1, 2, KindRead, Put{}, Found{}), "has an input of type models.Put; record it with models.Get"},
			{did(1, 1, 2, KindRead, Get{}, nil), "has outcome ok without an output"},
		},
		"kv": {
			{did(1, 1, 2, KindAppend, Append{"", "7"}, nil), "appends 7; only strings can be appended"},
			{did(1, 1, 2, KindPut, Put{}, Found{}), "which the kind does not have"},
		},
		"set":     {{did(1, 1, 2, KindRead, ReadSet{}, Count{}), "which the kind does not have"}},
		"queue":   {{did(1, 1, 2, KindDequeue, Dequeue{}, nil), "has outcome ok without an output"}, {did(1, 1, 2, "push", nil, nil), `kind "push"`}},
		"counter": {{did(1, 1, 2, KindRead, ReadCounter{}, nil), "has outcome ok without an output"}},
		"lock":    {{did(1, 1, 2, KindRenew, Renew{}, Granted{1}), "which the kind does not have"}},
	} {
		m, err := Lookup(model)
		require.NoError(t, err)
		for _, c := range cases {
			j := m.Judge(historyOf(c.op), Bounds{})[0]
			require.Equal(t, VerdictUnknown, j.Verdict, "%s %v", model, c.op)
			require.Contains(t, j.Violations[0].Message, c.says)
		}
	}
}
