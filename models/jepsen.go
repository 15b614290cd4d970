package models

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/simrun-dev/simrun/models/edn"
)

// Entry is one operation of a Jepsen history, its invocation and its completion together.
type Entry struct {
	// F is what the operation was, :f, without the colon.
	F string
	// Key is the value of :key, "" if there is none. Histories of Jepsen's independent keys have
	// pairs of key and value as values instead.
	Key string
	// Value is what the invocation has as :value. EDN becomes JSON: nil null, keywords and
	// characters strings, sequences and sets arrays, tags nothing.
	Value Value
	// Answer is what the completion has as :value, if Outcome is Ok.
	Answer Value
	// Error is what the completion has as :error; it tells kinds of failure apart.
	Error Value
	// Outcome is Ok for :ok, Fail for :fail, and Unknown for :info and for what never completed.
	Outcome Outcome
}

// half is one line of a Jepsen history: an invocation or a completion.
type half struct {
	process int64
	kind    string // invoke, ok, fail, info
	f       string
	key     string
	value   Value
	failure Value
	line    int
	ns      int64
	timed   bool
}

// ReadEDN reads a history in EDN as Jepsen stores it: maps with :process, :type, :f, :value, and
// perhaps :key and :time in ns, one after the other or in one vector. Entries of processes that
// are no numbers, such as :nemesis, are skipped. Errors are a [FormatError] or the reader's own.
func (m Model) ReadEDN(r io.Reader) (*History, error) {
	in := edn.NewReader(r)
	return m.pairUp(func() (*half, error) {
		for {
			value, line, err := in.Next()
			var syntax *edn.SyntaxError
			switch {
			case errors.Is(err, io.EOF):
				return nil, io.EOF
			case errors.As(err, &syntax):
				return nil, &FormatError{Line: syntax.Line, Err: errors.New(syntax.Message)}
			case err != nil:
				return nil, fmt.Errorf("read history: %w", err)
			}
			h, err := halfOf(value)
			if err != nil {
				return nil, &FormatError{Line: line, Err: err}
			}
			if h != nil {
				h.line = line
				return h, nil
			}
		}
	})
}

// halfOf reads one map of a history; nil if it is none of a client.
func halfOf(value any) (*half, error) {
	if t, ok := value.(edn.Tagged); ok {
		value = t.Value // a record, as newer versions write them
	}
	fields, ok := value.(edn.Map)
	if !ok {
		return nil, fmt.Errorf("an entry is a map, not %T", value)
	}
	h := &half{}
	process, ok := fields.Get("process")
	switch p := process.(type) {
	case int64:
		h.process = p
	case edn.Keyword:
		return nil, nil
	default:
		if !ok {
			return nil, errors.New("the entry has no :process")
		}
		return nil, fmt.Errorf("its :process is %v; want a number", process)
	}
	for _, word := range []struct {
		name edn.Keyword
		into *string
	}{{"type", &h.kind}, {"f", &h.f}} {
		v, _ := fields.Get(word.name)
		text, ok := v.(edn.Keyword)
		if !ok {
			return nil, fmt.Errorf("its :%s is %v; want a keyword", word.name, v)
		}
		*word.into = string(text)
	}
	if v, ok := fields.Get("key"); ok {
		if h.key = (Entry{}).keyText(valueOf(v)); v == nil {
			h.key = ""
		}
	}
	v, _ := fields.Get("value")
	h.value = valueOf(v)
	v, _ = fields.Get("error")
	h.failure = valueOf(v)
	v, _ = fields.Get("time")
	h.ns, h.timed = v.(int64)
	return h, h.check()
}

func (h *half) check() error {
	switch h.kind {
	case "invoke", "ok", "fail", "info":
		return nil
	}
	return fmt.Errorf("its type is :%s; want :invoke, :ok, :fail or :info", h.kind)
}

// valueOf makes a value of EDN.
func valueOf(v any) Value {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		return Value(fmt.Sprint(v))
	case int64:
		return Int(v)
	case *big.Int:
		return Value(v.String())
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return Text(fmt.Sprint(v))
		}
		return Value(fmt.Sprint(v))
	case string:
		return Text(v)
	case edn.Char:
		return Text(string(rune(v)))
	case edn.Keyword:
		return Text(string(v))
	case edn.Symbol:
		return Text(string(v))
	case edn.Tagged:
		return valueOf(v.Value)
	case edn.Vector:
		return arrayOf(v)
	case edn.List:
		return arrayOf(v)
	case edn.Set:
		return arrayOf(v)
	case edn.Map:
		// A map is the array of its pairs: its keys need not be strings.
		pairs := make([]any, len(v))
		for i, p := range v {
			pairs[i] = edn.Vector{p.Key, p.Value}
		}
		return arrayOf(pairs)
	}
	return Text(fmt.Sprint(v))
}

func arrayOf(elements []any) Value {
	var b strings.Builder
	b.WriteByte('[')
	for i, e := range elements {
		if i > 0 {
			b.WriteByte(',')
		}
		if v := valueOf(e); v == "" {
			b.WriteString("null")
		} else {
			b.WriteString(string(v))
		}
	}
	b.WriteByte(']')
	return Value(b.String())
}

// jepsenLine is an operation as jepsen.util logs it: process, type, f and value.
var jepsenLine = regexp.MustCompile(`jepsen\.util\b[^\t]*?[\s-](\d+|:\S+)\s+:(invoke|ok|fail|info)\s+:(\S+)(?:\s+(.*))?$`)

// otherLine is a line of a log that is about something else: another logger's, or part of a stack
// trace.
var otherLine = regexp.MustCompile(`^(\s|(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b|\d{4}-\d\d-\d\d|at |Caused by|\.\.\. |[\w.$]+(Exception|Error)\b)`)

// ReadJepsenLog reads the operations out of a log as Jepsen writes it, one a line:
//
//	INFO  jepsen.util - 3	:invoke	:cas	[0 4]
//
// Lines of other loggers are skipped, and so are processes that are no numbers. Errors are a
// [FormatError] or the reader's own.
func (m Model) ReadJepsenLog(r io.Reader) (*History, error) {
	in := bufio.NewReader(r)
	number := 0
	return m.pairUp(func() (*half, error) {
		for {
			text, err := in.ReadString('\n')
			if text = strings.TrimRight(text, "\r\n"); text != "" || err == nil {
				number++
				h, bad := halfOfLine(text)
				if bad != nil {
					return nil, &FormatError{Line: number, Err: bad}
				}
				if h != nil {
					h.line = number
					return h, nil
				}
			}
			if errors.Is(err, io.EOF) {
				return nil, io.EOF
			}
			if err != nil {
				return nil, fmt.Errorf("read history: %w", err)
			}
		}
	})
}

// halfOfLine reads one line of a log; nil if it is none of a client.
func halfOfLine(text string) (*half, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	parts := jepsenLine.FindStringSubmatch(text)
	if parts == nil {
		if otherLine.MatchString(text) && !strings.Contains(text, "jepsen.util") {
			return nil, nil
		}
		return nil, fmt.Errorf("%q is no operation; want: jepsen.util - PROCESS :invoke|:ok|:fail|:info :F VALUE", clip(text))
	}
	h := &half{kind: parts[2], f: parts[3]}
	if parts[1][0] == ':' {
		return nil, nil
	}
	if _, err := fmt.Sscan(parts[1], &h.process); err != nil {
		return nil, fmt.Errorf("%q is no process", parts[1])
	}
	value, failure, err := loggedValue(parts[4])
	if err != nil {
		return nil, fmt.Errorf("value %q: %w", clip(parts[4]), err)
	}
	h.value, h.failure = value, failure
	return h, nil
}

// loggedValue reads the value at the end of a line, and the error that may follow it.
func loggedValue(text string) (value, failure Value, err error) {
	if text == "" || text == "nil" {
		return "", "", nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil { // most are
		return Int(n), "", nil
	}
	in := edn.NewReader(strings.NewReader("[" + text + "]"))
	var all []any
	for {
		v, _, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		var syntax *edn.SyntaxError
		if errors.As(err, &syntax) {
			return "", "", errors.New(syntax.Message)
		}
		if err != nil {
			return "", "", err
		}
		all = append(all, v)
	}
	if len(all) > 0 {
		value = valueOf(all[0])
	}
	if len(all) > 1 {
		failure = arrayOf(all[1:])
	}
	return value, failure, nil
}

// clip shortens a line for a message.
func clip(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// errNoJepsen says that a model reads no histories of Jepsen.
type errNoJepsen struct{ model string }

func (e errNoJepsen) Error() string {
	return fmt.Sprintf("model %s reads JSON Lines only, no histories of Jepsen", e.model)
}

// pairUp makes a history of invocations and completions, which come in their order. Positions are
// those of a clock that shows the line, or moves on by one where several are on a line.
func (m Model) pairUp(next func() (*half, error)) (*History, error) {
	if m.Jepsen == nil {
		return nil, errNoJepsen{m.Name}
	}
	h := NewHistory()
	open := map[int64]*begun{}
	position := uint64(0)
	for {
		now, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		position = max(position+1, uint64(now.line))
		if err := m.take(h, open, now, position); err != nil {
			return nil, &FormatError{Line: now.line, Err: err}
		}
	}
	unfinished := slices.SortedFunc(maps.Values(open), func(a, b *begun) int { return a.op.ID - b.op.ID })
	for _, b := range unfinished {
		if err := m.settle(b, nil); err != nil {
			return nil, &FormatError{Line: b.half.line, Err: err}
		}
	}
	h.adopt()
	return h, nil
}

// begun is an operation whose completion has not come yet.
type begun struct {
	op   *Op
	half *half
}

func (m Model) take(h *History, open map[int64]*begun, now *half, position uint64) error {
	ns := int64(position)
	if now.timed {
		ns = now.ns
	}
	before := open[now.process]
	if now.kind == "invoke" {
		if before != nil {
			return fmt.Errorf("process %d invokes :%s while its :%s of line %d is under way",
				now.process, now.f, before.half.f, before.half.line)
		}
		op := &Op{
			ID: len(h.ops) + 1, Client: int(now.process), Outcome: Unknown,
			Call: position, Return: Open, CallNS: ns, ReturnNS: math.MaxInt64,
		}
		h.ops = append(h.ops, op)
		open[now.process] = &begun{op, now}
		return nil
	}
	if before == nil {
		if now.kind == "info" {
			return nil // a remark of no operation
		}
		return fmt.Errorf("process %d completes :%s, which it has not invoked", now.process, now.f)
	}
	if before.half.f != now.f {
		return fmt.Errorf("process %d completes :%s, but it has invoked :%s on line %d",
			now.process, now.f, before.half.f, before.half.line)
	}
	if now.timed && before.half.timed && now.ns < before.half.ns {
		return fmt.Errorf("process %d completes :%s at time %d, but it has invoked it at %d", now.process, now.f, now.ns, before.half.ns)
	}
	delete(open, now.process)
	op := before.op
	op.ReturnNS = ns
	switch now.kind {
	case "ok":
		op.Outcome, op.Return = Ok, position
	case "fail":
		op.Outcome, op.Return = Fail, position
	}
	return m.settle(before, now)
}

// settle makes the operation what the model has it be.
func (m Model) settle(b *begun, end *half) (err error) {
	e := Entry{F: b.half.f, Key: b.half.key, Value: b.half.value, Outcome: b.op.Outcome}
	if end != nil {
		e.Error = end.failure
		if e.Outcome == Ok {
			e.Answer = end.value
		}
	}
	b.op.Kind, b.op.Input, b.op.Output, err = m.Jepsen(e)
	switch {
	case err != nil:
		return err
	case m.Schema.Inputs[b.op.Kind] == nil:
		return fmt.Errorf("%w; it has %s", errFunction(e.F), names(m.Schema.Inputs))
	case m.Check != nil:
		return m.Check(b.op)
	}
	return nil
}
