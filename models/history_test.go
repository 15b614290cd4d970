package models

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestHistoryRecords(t *testing.T) {
	h := NewHistory()
	a := h.Begin(7, "put", "x", 10, 1000)
	b := h.Begin(8, "get", "y", 11, 1100)
	h.End(b, Ok, "z", 12, 1200)
	h.End(a, Fail, nil, 12, 1200)
	h.Begin(8, "get", "y", 13, 1300)
	require.Equal(t, 3, h.Len())
	require.Equal(t, Op{
		ID: 1, Client: 7, Process: 1, Kind: "put", Input: "x", Outcome: Fail,
		Call: 10, Return: 12, CallNS: 1000, ReturnNS: 1200,
	}, *h.Ops()[0])
	require.Equal(t, Op{
		ID: 3, Client: 8, Process: 2, Kind: "get", Input: "y", Outcome: Unknown,
		Call: 13, Return: Open, CallNS: 1300, ReturnNS: math.MaxInt64,
	}, *h.Ops()[2])
	require.Equal(t, 1, h.Count("get", Ok))
	require.Equal(t, 1, h.Count("get", Unknown))
	require.Equal(t, 0, h.Count("put", Ok))
	require.Equal(t, []string{"get", "put"}, h.Kinds())
	require.Equal(t, `#2 client 8 gety = ok z, from 1.1µs to 1.2µs`, h.Ops()[1].String())
	require.Contains(t, h.Ops()[2].String(), "never returned")
}

func TestClientGoesOnUnderFreshProcessAfterUnknown(t *testing.T) {
	h := NewHistory()
	process := func(client int, outcome Outcome, at uint64) int {
		token := h.Begin(client, "op", nil, at, 0)
		if outcome != "" {
			h.End(token, outcome, nil, at, 0)
		}
		return token.op.Process
	}
	require.Equal(t, 1, process(0, Ok, 1))
	require.Equal(t, 1, process(0, Fail, 2))
	require.Equal(t, 1, process(0, Unknown, 3))
	require.Equal(t, 2, process(1, Ok, 4))
	require.Equal(t, 3, process(0, "", 5), "after an unknown outcome")
	require.Equal(t, 4, process(0, Ok, 6), "beside an open operation")
	require.Equal(t, 4, process(0, Ok, 7))
	require.Equal(t, 2, process(1, Ok, 8))

	// An operation that its client gave up on remembers when, and stays open.
	op := h.Ops()[2]
	require.Equal(t, Open, op.Return)
	require.Equal(t, int64(0), op.ReturnNS)
}

func TestHistoryRefusesMisuse(t *testing.T) {
	h := NewHistory()
	token := h.Begin(1, "op", nil, 5, 0)
	require.PanicsWithValue(t, "models: position 4 recorded after 5; positions must not go back and must stay below 2^62",
		func() { h.End(token, Ok, nil, 4, 0) })
	require.Panics(t, func() { h.Begin(1, "op", nil, maxPosition, 0) })
	require.Panics(t, func() { h.End(token, "perhaps", nil, 6, 0) })
	h.End(token, Unknown, nil, 7, 0)
	require.Panics(t, func() { h.End(token, Ok, nil, 8, 0) }, "an answer after the client gave up")
}

func TestPrefix(t *testing.T) {
	h := NewHistory()
	a := h.Begin(1, "op", nil, 1, 0)
	b := h.Begin(2, "op", nil, 2, 0)
	h.End(a, Ok, "x", 3, 0)
	h.End(b, Ok, "y", 4, 0)
	h.Begin(1, "op", nil, 5, 0)
	p := h.until(3)
	require.Len(t, p.ops, 2)
	require.Equal(t, Ok, p.ops[0].Outcome)
	require.Equal(t, Unknown, p.ops[1].Outcome)
	require.Nil(t, p.ops[1].Output)
	require.Equal(t, Open, p.ops[1].Return)
	require.Equal(t, Ok, h.ops[1].Outcome, "the history itself stays as it is")
}

func requireReadsBack(t require.TestingT, h *History) {
	var file bytes.Buffer
	require.NoError(t, ShardSchema().Write(&file, h))
	back, err := ShardSchema().Read(&file)
	require.NoError(t, err)
	require.Equal(t, listing(h), listing(back))
	for i, op := range back.ops {
		want := *h.ops[i]
		want.Process = op.Process // numbered anew
		if c, ok := op.Output.(Contents); ok && len(c.Rows) == 0 {
			want.Output = c // no rows are no rows, nil or not
		}
		require.Equal(t, want, *op)
	}
}

func TestWrittenHistoriesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choose := seededChooser(rapid.Uint64().Draw(t, "seed"))
		requireReadsBack(t, generate(mixture{shards: 2, clients: 4, ops: 60, unknown: 20, tagged: true, holds: true}, choose))
	})
}

func TestEveryOutputReadsBack(t *testing.T) {
	r := newRecording()
	outputs := []any{
		UpperMismatch{Closed()}, InvalidUsage{}, Upper{At(3)}, Contents{[]Row{{"a", -1}}}, SinceError{At(4)},
		LeaseExpired{}, Since{Closed()}, Hold{7, At(8)}, OpaqueMismatch{9}, ListenBatch{[]Update{{"a", 3, -1}}, At(4)},
	}
	require.Len(t, outputs, len(ShardSchema().Outputs))
	for _, output := range outputs {
		r.end(r.begin(1, KindFetchUpper, FetchUpper{"s"}), Ok, output)
	}
	r.end(r.begin(1, KindSnapshot, Snapshot{"s", 5, "r", true}), Unknown, nil)
	r.begin(1, KindDowngradeSince, DowngradeSince{"s", "r", Closed(), true})
	r.begin(1, KindListen, Listen{"s", "l", 5, At(6)})
	requireReadsBack(t, r.History)
}

func TestReadAcceptsBareHistories(t *testing.T) {
	h, err := ShardSchema().Read(strings.NewReader(`
# Lines in any order; positions stand in for times.
{"client":2,"kind":"fetch_upper","input":{"shard":"s"},"outcome":"ok","output":{"upper":{"upper":[]}},"call":3,"return":4}

{"client":1,"kind":"compare_and_append","input":{"shard":"s","expected":[0],"new":[]},"outcome":"unknown","call":1}
{"client":1,"kind":"fetch_upper","input":{"shard":"s"},"outcome":"fail","call":5,"return":5}`))
	require.NoError(t, err)
	require.Len(t, h.ops, 3)
	require.Equal(t, KindCompareAndAppend, h.ops[0].Kind)
	require.Equal(t, CompareAndAppend{Shard: "s", New: Closed()}, h.ops[0].Input)
	require.Equal(t, Open, h.ops[0].Return)
	require.Equal(t, int64(4), h.ops[1].ReturnNS)
	require.NotEqual(t, h.ops[0].Process, h.ops[2].Process)
	require.Equal(t, VerdictPass, Linearizable{History: h}.Judge().Verdict)
}

func TestReadSaysWhatIsWrongWhere(t *testing.T) {
	good := `{"client":1,"kind":"fetch_upper","input":{"shard":"s"},"outcome":"ok","output":{"upper":{"upper":[5]}},"call":1,"return":2}`
	for _, c := range []struct{ from, to, want string }{
		{`"kind":"fetch_upper"`, `"kind":"fetch"`, `unknown kind "fetch"; want one of compare_and_append,`},
		{`"outcome":"ok"`, `"outcome":"fine"`, `outcome "fine"; want ok, fail or unknown`},
		{`"outcome":"ok"`, `"outcome":"unknown"`, `outcome unknown with a return`},
		{`,"return":2`, ``, `outcome ok without a return`},
		{`"return":2`, `"return":0`, `returns at 0, before its call at 1`},
		{`"call":1`, `"call":9223372036854775807`, `positions must stay below 2^62`},
		{`[5]`, `[5,6]`, `a frontier is [t] or [], not 2 times`},
		{`[5]`, `5`, `a frontier is [t] or []`},
		{`[5]`, `null`, `a frontier is [t] or [], not null`},
		{`{"upper":{"upper"`, `{"lower":{"upper"`, `unknown output "lower"; want one of contents,`},
		{`{"upper":[5]}`, `{"upper":[5],"x":1}`, `unknown field "x"`},
		{`"input":{"shard":"s"},`, ``, `input: missing`},
		{`{"upper":{"upper":[5]}}`, `{"upper":{"upper":[5]},"since":{"since":[5]}}`, `output has 2 names`},
		{`"return":2}`, `"return":2} {}`, `more than one value on the line`},
		{`{"client"`, `{client`, `invalid character`},
		{`"client":1`, `"client":1,"id":9`, `id 9 is already used on line 1`},
	} {
		bad := strings.Replace(good, c.from, c.to, 1)
		require.NotEqual(t, good, bad)
		first := strings.Replace(good, `"client":1`, `"client":1,"id":9`, 1)
		_, err := ShardSchema().Read(strings.NewReader(first + "\n" + bad + "\n"))
		require.ErrorIs(t, err, ErrFormat)
		var format *FormatError
		require.ErrorAs(t, err, &format)
		require.Equal(t, 2, format.Line)
		require.ErrorContains(t, err, c.want)
	}
}

func TestWriteRefusesWhatCannotBeReadBack(t *testing.T) {
	write := func(input, output any) error {
		r := newRecording()
		r.end(r.begin(1, KindSnapshot, input), Ok, output)
		return ShardSchema().Write(&bytes.Buffer{}, r.History)
	}
	require.NoError(t, write(Snapshot{Shard: "s"}, Contents{[]Row{{"a", 1}}}))
	require.ErrorContains(t, write(&Snapshot{}, nil), "*models.Snapshot is not in the schema")
	require.ErrorContains(t, write(Snapshot{}, 7), "int is not in the schema")
	require.ErrorContains(t, write(Snapshot{Shard: "\xff"}, nil), "not valid UTF-8")
	require.ErrorContains(t, write(Snapshot{}, Contents{[]Row{{"\xff", 1}}}), "not valid UTF-8")
}

func TestLookup(t *testing.T) {
	m, err := Lookup("shard")
	require.NoError(t, err)
	require.Len(t, m.Oracles(NewHistory()), 2)
	_, err = Lookup("shrad")
	var unknown *UnknownModelError
	require.ErrorAs(t, err, &unknown)
	require.ErrorContains(t, err, `no model is called "shrad"; there is: cas-register, `)
}
