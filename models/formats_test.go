package models

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const jepsenWrite = "INFO  jepsen.util - 0\t:invoke\t:write\t4\n"

func TestFormatsAreTold(t *testing.T) {
	m := registerModel()
	for text, want := range map[string]int{
		jepsenWrite: 1,
		"2024-01-02 10:00:00,123 INFO [jepsen worker 0] jepsen.util: 0\t:invoke\t:write\t4\n" +
			"2024-01-02 10:00:00,124 WARN [jepsen worker 0] jepsen.core: crashed\njava.net.SocketTimeoutException: x\n\tat a.b\n": 1,
		"{:process 0, :type :invoke, :f :write, :value 4}":                                              1,
		"; a comment\n[{:process 0, :type :invoke, :f :write, :value 4}]":                               1,
		"#jepsen.history.Op{:process 0, :type :invoke, :f :write, :value 4}":                            1,
		"# a comment\n{\"client\":1,\"kind\":\"read\",\"input\":{},\"outcome\":\"unknown\",\"call\":1}": 1,
		"{ \"client\":1,\"kind\":\"read\",\"input\":{},\"outcome\":\"unknown\",\"call\":1}\n\n":         1,
	} {
		h, err := m.Read(strings.NewReader(text), FormatAuto)
		require.NoError(t, err, text)
		require.Equal(t, want, h.Len(), text)
	}
	for _, text := range []string{"\uFEFF" + jepsenWrite, "\uFEFF{:process 0, :type :invoke, :f :write, :value 4}"} {
		h, err := m.Read(strings.NewReader(text), FormatAuto)
		require.NoError(t, err, "a byte order mark")
		require.Equal(t, 1, h.Len())
	}
	for _, text := range []string{"", "\n\n", "# only a comment\n", "[]", "INFO  other - x\n"} {
		_, err := m.Read(strings.NewReader(text), FormatAuto)
		require.ErrorIs(t, err, ErrEmpty, text)
	}
	_, err := m.Read(strings.NewReader(jepsenWrite), "yaml")
	require.ErrorContains(t, err, `there is no format "yaml"; there are: [auto jepsen edn jsonl]`)
	m.Jepsen = nil
	_, err = m.Read(strings.NewReader(jepsenWrite), FormatAuto)
	require.ErrorContains(t, err, "model register reads JSON Lines only")
}

// Whatever never completed, for whatever reason, has an unknown outcome.
func TestUnfinishedIsUnknown(t *testing.T) {
	h, err := casRegisterModel().Read(strings.NewReader(
		"INFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\n"+
			"INFO  jepsen.util - 1\t:invoke\t:write\t4\n"+
			"INFO  jepsen.util - 1\t:info\t:write\t:timed-out\n"+
			"INFO  jepsen.util - 2\t:invoke\t:read\tnil\n"+
			"INFO  jepsen.util - 2\t:fail\t:read\tnil\t:no-leader\n"), FormatAuto)
	require.NoError(t, err)
	require.Equal(t, []string{KindCAS, KindRead, KindWrite}, h.Kinds())
	require.Equal(t, 1, h.Count(KindCAS, Unknown))
	require.Equal(t, 1, h.Count(KindWrite, Unknown))
	require.Equal(t, 1, h.Count(KindRead, Fail))
	require.Equal(t, CompareAndSet{"", "1", "2"}, h.Ops()[0].Input)
	require.Equal(t, Open, h.Ops()[1].Return)
	require.Equal(t, int64(3), h.Ops()[1].ReturnNS, "when its client gave up")
}

func TestBadLinesAreNamed(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"hello\n", `"hello" is no operation; want: jepsen.util - PROCESS`},
		{"INFO  jepsen.util - 0\t:inv", "is no operation"},
		{"INFO  jepsen.util - 0\t:ok\t:write\t4\n", "process 0 completes :write, which it has not invoked"},
		{jepsenWrite, "process 0 invokes :write while its :write of line 1 is under way"},
		{"INFO  jepsen.util - 0\t:ok\t:read\t4\n", "but it has invoked :write on line 1"},
		{"INFO  jepsen.util - 1\t:invoke\t:enqueue\t4\n", "the model has no operation :enqueue"},
		{"INFO  jepsen.util - 1\t:invoke\t:cas\t[4\n", `value "[4": the input ends`},
		{"INFO  jepsen.util - 1\t:invoke\t:put\t4\n", "the model has no operation :put; it has cas, read, write"},
	} {
		text := jepsenWrite + c.text
		if strings.Contains(c.says, "has not invoked") {
			text = strings.Replace(jepsenWrite, "- 0", "- 3", 1) + c.text
		}
		requireBadLine(t, text, 2, c.says)
	}
	good := "{:process 0, :type :invoke, :f :write, :value 4}\n"
	for _, c := range []struct{ text, says string }{
		{"{:process 0", "the input ends within a value"},
		{"7", "an entry is a map, not int64"},
		{"{:type :ok, :f :write}", "the entry has no :process"},
		{`{:process "a", :type :ok, :f :write}`, "its :process is a; want a number"},
		{"{:process 1, :type 5, :f :write}", "its :type is 5; want a keyword"},
		{"{:process 1, :type :done, :f :write}", "its type is :done; want :invoke, :ok, :fail or :info"},
	} {
		requireBadLine(t, good+c.text, 2, c.says)
	}
	requireBadLine(t, "{:process 0, :type :invoke, :f :read, :time 50}\n{:process 0, :type :ok, :f :read, :time 5}", 2,
		"process 0 completes :read at time 5, but it has invoked it at 50")
	requireBadLine(t, "\n\x1f\x8b garbage", 2, "begins neither JSON Lines, EDN nor a log of Jepsen's")
	requireBadLine(t, `{"client":1,"kind":"read","input":{},"outcome":"ok","call":1,"return":2}`, 1, "has outcome ok without an output")
	requireBadLine(t, `{"client":1,"kind":"read","input":null,"outcome":"unknown","call":1}`, 1, "input: missing")
	requireBadLine(t, `{"client":1,"kind":"read"`, 1, "the line ends within a value")
	requireBadLine(t, `{"client":1,"kind":"read","input":{},"outcome":"unknown","call":-1}`, 1, "call is a number -1; want a whole number, not negative")
	requireBadLine(t, `{"client":1,"kind":"read","input":7,"outcome":"unknown","call":1}`, 1, "input: the value is a number; want an object")
	requireBadLine(t, `{"client":1,"kind":"write","input":{"value":1},"outcome":"ok","call":1,"return":2,"call_ns":9,"return_ns":8}`, 1,
		"returns at time 8 ns, before its call at 9 ns")
	requireBadLine(t, "{\"client\":1}\n", 1, `unknown kind ""`)
}

func requireBadLine(t *testing.T, text string, line int, says string) {
	t.Helper()
	_, err := casRegisterModel().Read(strings.NewReader(text), FormatAuto)
	require.ErrorIs(t, err, ErrFormat, text)
	var format *FormatError
	require.ErrorAs(t, err, &format)
	require.Equal(t, line, format.Line, text)
	require.ErrorContains(t, err, says)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errReading }

var errReading = errors.New("cable pulled")

func TestReadErrorsComeThrough(t *testing.T) {
	for _, f := range Formats() {
		_, err := kvModel().Read(failing{}, f)
		require.ErrorIs(t, err, errReading, f)
		require.NotErrorIs(t, err, ErrFormat)
	}
}

func TestEntriesOfEveryModel(t *testing.T) {
	for _, c := range []struct {
		model     Model
		entry     Entry
		kind      string
		in, out   any
		complaint string
	}{
		{registerModel(), Entry{F: "read", Value: "[7,null]", Answer: "[7,4]", Outcome: Ok}, KindRead, Get{"7"}, Found{"4"}, ""},
		{registerModel(), Entry{F: "write", Value: `["a",4]`, Outcome: Ok}, KindWrite, Put{"a", "4"}, nil, ""},
		{casRegisterModel(), Entry{F: "cas", Value: `["a",[1,2]]`, Outcome: Ok}, KindCAS, CompareAndSet{"a", "1", "2"}, nil, ""},
		{casRegisterModel(), Entry{F: "cas", Value: "5", Outcome: Ok}, "", nil, nil, "want a pair"},
		{kvModel(), Entry{F: "delete", Value: `"a"`, Outcome: Ok}, KindDelete, Delete{"a"}, nil, ""},
		{kvModel(), Entry{F: "get", Key: "k", Answer: "[1,2]", Outcome: Ok}, KindGet, Get{"k"}, Found{"[1,2]"}, ""},
		{setModel(), Entry{F: "read", Value: `["s",null]`, Answer: `["s",[1,2]]`, Outcome: Ok}, KindRead, ReadSet{"s"}, Members{[]Value{"1", "2"}}, ""},
		{setModel(), Entry{F: "read", Answer: "5", Outcome: Ok}, "", nil, nil, "want a set or a vector"},
		{setModel(), Entry{F: "remove", Value: "5"}, KindRemove, RemoveElement{"", "5"}, nil, ""},
		{queueModel(), Entry{F: "dequeue", Answer: "5", Outcome: Ok}, KindDequeue, Dequeue{}, Item{"5"}, ""},
		{queueModel(), Entry{F: "dequeue", Outcome: Ok}, KindDequeue, Dequeue{}, EmptyQueue{}, ""},
		{queueModel(), Entry{F: "drain", Outcome: Ok}, "", nil, nil, "a :drain is not a dequeue"},
		{counterModel(), Entry{F: "add", Value: "5"}, KindAdd, Add{"", 5}, nil, ""},
		{counterModel(), Entry{F: "dec"}, KindAdd, Add{"", -1}, nil, ""},
		{counterModel(), Entry{F: "read", Answer: `"x"`, Outcome: Ok}, "", nil, nil, "want a whole number"},
		{counterModel(), Entry{F: "read", Outcome: Ok}, "", nil, nil, "answered without a value"},
		{lockModel(), Entry{F: "acquire", Answer: "7", Outcome: Ok}, KindAcquire, Acquire{}, Granted{7}, ""},
		{lockModel(), Entry{F: "release", Key: "l", Outcome: Ok}, KindRelease, Release{Lock: "l"}, nil, ""},
		{lockModel(), Entry{F: "read"}, "", nil, nil, "the model has no operation :read"},
	} {
		kind, in, out, err := c.model.Jepsen(c.entry)
		if c.complaint != "" {
			require.ErrorContains(t, err, c.complaint)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []any{c.kind, c.in, c.out}, []any{kind, in, out}, "%+v", c.entry)
	}
}

func TestValues(t *testing.T) {
	for text, want := range map[string]Value{
		` { "b" : 1, "a" : [ 1.50, null ] } `: `{"a":[1.50,null],"b":1}`, "null": "", `"a<b"`: `"a<b"`, "12345678901234567890": "12345678901234567890",
	} {
		v, err := ParseValue([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
	for _, text := range []string{"", "{", "1 2"} {
		_, err := ParseValue([]byte(text))
		require.Error(t, err, text)
	}
	text, ok := Text("a\n\"b\"").Text()
	require.True(t, ok)
	require.Equal(t, "a\n\"b\"", text)
	_, ok = Int(7).Text()
	require.False(t, ok)
	require.Contains(t, Text(strings.Repeat("x", 500)).String(), "... (502 bytes)")
}
