package models

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Schema says which types the operations of a model carry, so that histories can be read back.
// Names are what the JSON form uses.
type Schema struct {
	// Inputs maps a kind of operation to the type of its input.
	Inputs map[string]reflect.Type
	// Outputs maps a name to a type of output; any kind may be answered with any of them, it is
	// the model that objects.
	Outputs map[string]reflect.Type
	// Complete refuses inputs and outputs that lack a field which is not optional, by omitempty or omitzero, where
	// otherwise a field that is left out is its type's zero value.
	Complete bool
}

// ErrFormat is what every error about the form of a recorded history wraps.
var ErrFormat = errors.New("malformed history")

// FormatError says which line of a recorded history cannot be used, and why.
type FormatError struct {
	Line int
	Err  error
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%v: line %d: %v", ErrFormat, e.Line, e.Err)
}

// Unwrap makes errors.Is(err, ErrFormat) true.
func (e *FormatError) Unwrap() []error { return []error{ErrFormat, e.Err} }

// opLine is one operation on one line of JSON. An operation without "return" is open. Positions
// stand in for times that are left out.
type opLine struct {
	ID       int                        `json:"id,omitempty"`
	Client   int                        `json:"client"`
	Kind     string                     `json:"kind"`
	Input    json.RawMessage            `json:"input"`
	Outcome  Outcome                    `json:"outcome"`
	Output   map[string]json.RawMessage `json:"output,omitempty"`
	Call     uint64                     `json:"call"`
	Return   *uint64                    `json:"return,omitempty"`
	CallNS   *int64                     `json:"call_ns,omitempty"`
	ReturnNS *int64                     `json:"return_ns,omitempty"`
}

// Write writes the history as JSON Lines, one operation a line, in the order of their calls,
// for [Schema.Read]. Data of rows must be valid UTF-8, or JSON would change it.
func (s Schema) Write(w io.Writer, h *History) error {
	out := bufio.NewWriter(w)
	for _, op := range h.ops {
		line, err := s.encode(op)
		if err != nil {
			return fmt.Errorf("write operation #%d: %w", op.ID, err)
		}
		out.Write(line)
		out.WriteByte('\n')
	}
	return out.Flush()
}

func (s Schema) encode(op *Op) ([]byte, error) {
	if want, ok := s.Inputs[op.Kind]; !ok || want != reflect.TypeOf(op.Input) {
		return nil, fmt.Errorf("kind %q with an input of type %T is not in the schema", op.Kind, op.Input)
	}
	if err := checkUTF8(reflect.ValueOf(op.Input)); err != nil {
		return nil, err
	}
	input, err := json.Marshal(op.Input)
	if err != nil {
		return nil, err
	}
	line := opLine{
		ID: op.ID, Client: op.Client, Kind: op.Kind, Input: input, Outcome: op.Outcome,
		Call: op.Call, CallNS: &op.CallNS,
	}
	if op.Return != Open {
		line.Return = &op.Return
	}
	if op.ReturnNS != math.MaxInt64 {
		line.ReturnNS = &op.ReturnNS
	}
	if op.Output != nil {
		name, ok := s.outputName(reflect.TypeOf(op.Output))
		if !ok {
			return nil, fmt.Errorf("an output of type %T is not in the schema", op.Output)
		}
		if err := checkUTF8(reflect.ValueOf(op.Output)); err != nil {
			return nil, err
		}
		output, err := json.Marshal(op.Output)
		if err != nil {
			return nil, err
		}
		line.Output = map[string]json.RawMessage{name: output}
	}
	return json.Marshal(line)
}

func (s Schema) outputName(of reflect.Type) (string, bool) {
	for _, name := range slices.Sorted(maps.Keys(s.Outputs)) {
		if s.Outputs[name] == of {
			return name, true
		}
	}
	return "", false
}

// checkUTF8 refuses strings that encoding/json would silently replace parts of.
func checkUTF8(v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return fmt.Errorf("%q is not valid UTF-8; encode binary data, in hexadecimal say, before recording it",
				v.String())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if err := checkUTF8(v.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := checkUTF8(v.Index(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Read reads a history in JSON Lines, one operation a line; empty lines and lines that begin
// with
// # are skipped. Positions need only be in one total order: nanoseconds of one monotonic clock
// will do. Lines may come in any order. Errors are [FormatError], or the reader's own.
func (s Schema) Read(r io.Reader) (*History, error) { return s.read(r, nil) }

// read is Read with a check of each operation, unless that is nil.
func (s Schema) read(r io.Reader, check func(op *Op) error) (*History, error) {
	h := NewHistory()
	in := bufio.NewReader(r)
	lineOf := map[int]int{}
	for number := 1; ; number++ {
		line, err := readLine(in)
		if errors.Is(err, errLineTooLong) {
			return nil, &FormatError{Line: number, Err: err}
		}
		if text := bytes.TrimSpace(line); len(text) > 0 && text[0] != '#' {
			op, bad := s.decode(text)
			if bad != nil {
				return nil, &FormatError{Line: number, Err: bad}
			}
			if op.ID == 0 {
				op.ID = number
			}
			if first, dup := lineOf[op.ID]; dup {
				return nil, &FormatError{Line: number, Err: fmt.Errorf("id %d is already used on line %d", op.ID, first)}
			}
			lineOf[op.ID] = number
			if check != nil {
				if err := check(op); err != nil {
					return nil, &FormatError{Line: number, Err: err}
				}
			}
			h.ops = append(h.ops, op)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read history: %w", err)
		}
	}
	h.adopt()
	return h, nil
}

// maxLine bounds the lines of histories, in bytes: one that reads a whole set of a million elements has some ten million.
const maxLine = 256 << 20

var errLineTooLong = fmt.Errorf("the line is longer than %d MiB", maxLine>>20)

// readLine reads a line with its end. The error is errLineTooLong if it has more than maxLine bytes: a file that has no
// lines need not fit into memory.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, errLineTooLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// adopt puts operations read from elsewhere in order and gives them processes.
func (h *History) adopt() {
	slices.SortStableFunc(h.ops, func(a, b *Op) int {
		if a.Call != b.Call {
			if a.Call < b.Call {
				return -1
			}
			return 1
		}
		return a.ID - b.ID
	})
	for _, op := range h.ops {
		before, ok := h.busy[op.Client]
		if !ok || before.Outcome == Unknown || before.Return > op.Call {
			h.next++
			h.process[op.Client] = h.next
		}
		op.Process = h.process[op.Client]
		h.busy[op.Client] = op
	}
}

func (s Schema) decode(text []byte) (*Op, error) {
	var line opLine
	if err := strict(text, &line); err != nil {
		return nil, err
	}
	inputType, ok := s.Inputs[line.Kind]
	if !ok {
		return nil, fmt.Errorf("unknown kind %q; want one of %s", line.Kind, names(s.Inputs))
	}
	op := &Op{
		ID: line.ID, Client: line.Client, Kind: line.Kind, Outcome: line.Outcome,
		Call: line.Call, Return: Open, CallNS: int64(line.Call), ReturnNS: math.MaxInt64,
	}
	if line.CallNS != nil {
		op.CallNS = *line.CallNS
	}
	if line.Return != nil {
		op.Return, op.ReturnNS = *line.Return, int64(*line.Return)
	}
	if line.ReturnNS != nil {
		op.ReturnNS = *line.ReturnNS
	}
	if err := checkEnds(op); err != nil {
		return nil, err
	}
	var err error
	if op.Input, err = decodeAs(inputType, line.Input); err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	if s.Complete {
		if name := missing(inputType, line.Input); name != "" {
			return nil, fmt.Errorf("%s: %s is missing", line.Kind, name)
		}
	}
	if len(line.Output) > 1 {
		return nil, fmt.Errorf("output has %d names; want one", len(line.Output))
	}
	for name, raw := range line.Output {
		outputType, ok := s.Outputs[name]
		if !ok {
			return nil, fmt.Errorf("unknown output %q; want one of %s", name, names(s.Outputs))
		}
		if op.Output, err = decodeAs(outputType, raw); err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
		if lacks := missing(outputType, raw); s.Complete && lacks != "" {
			return nil, fmt.Errorf("%s: output %s: %s is missing", line.Kind, name, lacks)
		}
	}
	return op, nil
}

// missing names the first field that a value of a type must have and does not; "" if there is none. The value has
// been decoded as that type.
func missing(t reflect.Type, raw json.RawMessage) string {
	switch t.Kind() {
	case reflect.Struct:
		given := map[string]json.RawMessage{}
		_ = json.Unmarshal(raw, &given)
		for _, f := range jsonFields(t) {
			value, ok := lookUp(given, f.name)
			if list := f.typ.Kind() == reflect.Slice || f.typ.Kind() == reflect.Map; string(value) == "null" && !list {
				ok = false // of a list it is the empty one
			}
			switch {
			case !ok && f.optional:
				continue
			case !ok:
				return f.name
			}
			if inner := missing(f.typ, value); inner != "" {
				return f.name + "." + inner
			}
		}
	case reflect.Slice:
		var items []json.RawMessage
		_ = json.Unmarshal(raw, &items)
		for i, item := range items {
			if inner := missing(t.Elem(), item); inner != "" {
				return fmt.Sprintf("%d.%s", i, inner)
			}
		}
	}
	return ""
}

// lookUp finds a field by its name as encoding/json does, which takes another case as well.
func lookUp(given map[string]json.RawMessage, name string) (json.RawMessage, bool) {
	if value, ok := given[name]; ok {
		return value, true
	}
	for _, other := range slices.Sorted(maps.Keys(given)) {
		if strings.EqualFold(other, name) {
			return given[other], true
		}
	}
	return nil, false
}

// names lists what a part of the schema knows, sorted.
func names(types map[string]reflect.Type) string {
	return strings.Join(slices.Sorted(maps.Keys(types)), ", ")
}

// checkEnds refuses an operation whose outcome and ends contradict each other.
func checkEnds(op *Op) error {
	switch {
	case op.Outcome != Ok && op.Outcome != Fail && op.Outcome != Unknown:
		return fmt.Errorf("outcome %q; want ok, fail or unknown", op.Outcome)
	case op.Outcome == Unknown && op.Return != Open:
		return fmt.Errorf("outcome unknown with a return; leave it out: the operation may take effect later")
	case op.Outcome != Unknown && op.Return == Open:
		return fmt.Errorf("outcome %s without a return; say unknown, or when it returned", op.Outcome)
	case op.Call >= maxPosition || op.Return != Open && op.Return >= maxPosition:
		return fmt.Errorf("positions must stay below 2^62")
	case op.Return < op.Call:
		return fmt.Errorf("returns at %d, before its call at %d", op.Return, op.Call)
	case op.ReturnNS < op.CallNS:
		return fmt.Errorf("returns at time %d ns, before its call at %d ns", op.ReturnNS, op.CallNS)
	}
	return nil
}

func decodeAs(as reflect.Type, raw json.RawMessage) (any, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, fmt.Errorf("missing")
	}
	value := reflect.New(as)
	if err := strict(raw, value.Interface()); err != nil {
		return nil, err
	}
	return value.Elem().Interface(), nil
}

// jsonWord says of a Go type what it is in JSON.
func jsonWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number, not negative"
	case reflect.Bool:
		return "true or false"
	}
	return "a " + t.Kind().String()
}

// fieldName is the path of a field in a type, without the Go types that are embedded on it, which no line has.
func fieldName(t reflect.Type, path string) string {
	var shown []string
	for part := range strings.SplitSeq(path, ".") {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if t.Kind() == reflect.Struct {
			if f, ok := t.FieldByName(part); ok && f.Anonymous && f.Tag.Get("json") == "" {
				t = f.Type
				continue
			}
			for _, f := range jsonFields(t) {
				if strings.EqualFold(f.name, part) {
					t = f.typ
					break
				}
			}
		}
		shown = append(shown, part)
	}
	return strings.Join(shown, ".")
}

// strict decodes one JSON value that has no field the target does not know.
func strict(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	mistyped, ok := err.(*json.UnmarshalTypeError) // not a wrapped one: types that read themselves say more
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the line ends within a value")
	case ok:
		return fmt.Errorf("%s is a %s; want %s", cmp.Or(fieldName(reflect.TypeOf(into).Elem(), mistyped.Field), "the value"), mistyped.Value, jsonWord(mistyped.Type))
	case err != nil:
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more than one value on the line")
	}
	return nil
}
