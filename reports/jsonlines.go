package reports

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"

	"github.com/simrun-dev/simrun/scenarios"
	"github.com/simrun-dev/simrun/scenarios/mutants"
)

// JSONLines writes one JSON object a line. Each line reaches the writer in one Write, so that a
// crash loses at most the line being written.
type JSONLines struct {
	w io.Writer
}

// NewJSONLines returns a JSONLines that writes to w.
func NewJSONLines(w io.Writer) *JSONLines { return &JSONLines{w: w} }

// Result writes a run's result. Maps and lists without entries are written as {} and [].
func (j *JSONLines) Result(r scenarios.Result) error {
	r.Faults = orEmpty(r.Faults)
	r.Sometimes = orEmpty(r.Sometimes)
	r.Settings = orEmpty(r.Settings)
	if r.Failures == nil {
		r.Failures = []scenarios.Failure{}
	}
	return j.write(r)
}

// Mutant writes what became of a mutant.
func (j *JSONLines) Mutant(o mutants.Outcome) error { return j.write(o) }

// Situation writes how well runs have covered a situation.
func (j *JSONLines) Situation(s scenarios.Situation) error { return j.write(s) }

// Scenario writes what there is to know about a scenario.
func (j *JSONLines) Scenario(s ScenarioInfo) error {
	if s.Settings == nil {
		s.Settings = []SettingInfo{}
	}
	if s.Oracles == nil {
		s.Oracles = []string{}
	}
	return j.write(s)
}

// Fault writes what there is to know about a kind of fault.
func (j *JSONLines) Fault(f FaultInfo) error {
	if f.Params == nil {
		f.Params = []SettingInfo{}
	}
	return j.write(f)
}

func (j *JSONLines) write(v any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false) // messages have <= and -> in them
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := j.w.Write(line.Bytes())
	return err
}

func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

// LineError is a line that is not the record of a run.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

// ErrCutOff says that the last line is only the beginning of a record: the writer was killed, or
// the disk was full.
var ErrCutOff = errors.New("the record is cut off")

// maxLine bounds the length of a record, in bytes: a plan of a thousand faults has some hundred thousand.
const maxLine = 16 << 20

// ErrLineTooLong says that a line is longer than any record.
var ErrLineTooLong = fmt.Errorf("the line is longer than %d MiB, which no record is", maxLine>>20)

// readLine reads a line with its end. The error is ErrLineTooLong if it has more than maxLine bytes, which are not
// kept: a file that has no lines need not fit into memory.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, ErrLineTooLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// ReadResults reads what [JSONLines.Result] wrote, one result after the other. Empty lines are
// passed over, keys that are not known ignored. After an error, a [*LineError] or that of r, it
// ends.
func ReadResults(r io.Reader) iter.Seq2[scenarios.Result, error] {
	return func(yield func(scenarios.Result, error) bool) {
		lines := bufio.NewReader(r)
		for n := 1; ; n++ {
			line, readErr := readLine(lines)
			if errors.Is(readErr, ErrLineTooLong) {
				yield(scenarios.Result{}, &LineError{Line: n, Err: readErr})
				return
			}
			if len(bytes.TrimSpace(line)) > 0 {
				result, err := parseResult(line)
				if err != nil {
					var syntax *json.SyntaxError
					if errors.Is(readErr, io.EOF) && errors.As(err, &syntax) && syntax.Offset >= int64(len(line)) {
						err = ErrCutOff
					}
					yield(scenarios.Result{}, &LineError{Line: n, Err: err})
					return
				}
				if !yield(result, nil) {
					return
				}
			}
			if errors.Is(readErr, io.EOF) {
				return
			}
			if readErr != nil {
				yield(scenarios.Result{}, readErr)
				return
			}
		}
	}
}

var traceHash = regexp.MustCompile(`^[0-9a-f]{16}$`)

// recordError is an error of package json in words for people who know the keys, not the types.
type recordError struct{ err error }

func (e *recordError) Unwrap() error { return e.err }

func (e *recordError) Error() string {
	var mistyped *json.UnmarshalTypeError
	if errors.As(e.err, &mistyped) {
		if mistyped.Field == "" {
			return fmt.Sprintf("not the record of a run, which is an object, but %s", mistyped.Value)
		}
		return fmt.Sprintf("not the record of a run: %s cannot be %s", mistyped.Field, mistyped.Value)
	}
	var syntax *json.SyntaxError
	if errors.As(e.err, &syntax) {
		return fmt.Sprintf("not the record of a run: it is not JSON from column %d on", syntax.Offset)
	}
	return "not the record of a run"
}

func parseResult(line []byte) (scenarios.Result, error) {
	var r scenarios.Result
	if err := json.Unmarshal(line, &r); err != nil {
		return r, &recordError{err}
	}
	switch {
	case r.Scenario == "":
		return r, errors.New("not the record of a run: it has no scenario")
	case r.Verdict != scenarios.Pass && r.Verdict != scenarios.Fail && r.Verdict != scenarios.Unknown:
		return r, fmt.Errorf("not the record of a run: verdict %q is none of pass, fail, unknown", r.Verdict)
	case !traceHash.MatchString(r.TraceHash):
		return r, fmt.Errorf("not the record of a run: trace_hash %q is not 16 hexadecimal digits", r.TraceHash)
	}
	return r, nil
}
