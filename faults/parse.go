package faults

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of what ParsePlan reads. A generated plan has some hundred faults and two levels of nesting;
// the parser of YAML takes more time than anybody has for texts far beyond them.
const (
	maxPlanBytes   = 256 << 10
	maxPlanFaults  = 1000
	maxPlanNesting = 32
	maxPlanTokens  = 64 * maxPlanFaults
)

// A PlanError says what is wrong with a plan, and where.
type PlanError struct {
	Line, Column int // from 1; 0 if the plan was not read from a text
	Problem      string
}

func (e *PlanError) Error() string {
	if e.Line == 0 {
		return "fault plan: " + e.Problem
	}
	return fmt.Sprintf("fault plan, line %d column %d: %s", e.Line, e.Column, e.Problem)
}

// ParsePlan reads a plan from YAML and checks all that can be checked without knowing the
// scenario; see [Plan.Check] for the rest. A text without a plan is an error: no faults at all are
// written "faults: []". Its errors are *PlanError.
func ParsePlan(data []byte) (*Plan, error) {
	if err := checkText(data); err != nil {
		return nil, err
	}
	if err := checkTokens(lexer.Tokenize(string(data))); err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, syntaxError(err)
	}
	root, err := onlyDocument(file)
	if err != nil {
		return nil, err
	}
	p := &Plan{source: map[string]faultSource{}}
	if err := p.read(root); err != nil {
		return nil, err
	}
	p.sort()
	return p, nil
}

// checkText refuses what is no text, or too much.
func checkText(data []byte) error {
	if len(data) > maxPlanBytes {
		return &PlanError{1, 1, fmt.Sprintf("the plan is longer than %d KiB", maxPlanBytes>>10)}
	}
	line, column := 1, 1
	for rest := data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		control := unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
		if r == utf8.RuneError && size == 1 || r == '\ufeff' || control {
			return &PlanError{line, column, "this is not YAML text: save it as UTF-8 without a byte order mark"}
		}
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
		rest = rest[size:]
	}
	return nil
}

// checkTokens refuses what the parser could not take apart in good time.
func checkTokens(tokens token.Tokens) error {
	brackets := 0
	var columns []int // of the blocks that are open
	line := 0
	for n, t := range tokens {
		if n == maxPlanTokens {
			return positionOf(t).wrong("the plan has more than %d words and signs: more than %d faults are too many", maxPlanTokens, maxPlanFaults)
		}
		at := t.Position
		begins := at.Line != line // what comes first in a line
		line = at.Line
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
			begins = true
		case token.CommentType:
			begins = false
		case token.AnchorType, token.AliasType, token.TagType:
			return positionOf(t).wrong("a plan has no anchors, aliases and tags: write out what they stand for")
		}
		if begins && brackets == 0 {
			for len(columns) > 0 && columns[len(columns)-1] >= at.Column {
				columns = columns[:len(columns)-1]
			}
			columns = append(columns, at.Column)
		}
		if brackets+len(columns) > maxPlanNesting {
			return positionOf(t).wrong("the plan is nested more than %d levels deep", maxPlanNesting)
		}
	}
	return nil
}

// syntaxError takes the message out of what the parser prints, which shows the text around it.
func syntaxError(err error) *PlanError {
	e := &PlanError{Line: 1, Column: 1, Problem: err.Error()}
	var y yaml.Error
	if errors.As(err, &y) {
		e.Problem = y.GetMessage()
		if t := y.GetToken(); t != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
	}
	e.Problem, _, _ = strings.Cut(e.Problem, "\n")
	return e
}

var errEmptyPlan = &PlanError{1, 1, "the plan is empty; write faults: [] for none"}

// onlyDocument is the mapping that a plan is.
func onlyDocument(file *ast.File) (*ast.MappingNode, error) {
	if len(file.Docs) == 0 {
		return nil, errEmptyPlan
	}
	if len(file.Docs) > 1 {
		second := file.Docs[1]
		at := position{1, 1}
		switch {
		case second.Start != nil:
			at = positionOf(second.Start)
		case second.Body != nil:
			at = nodePosition(second.Body)
		}
		return nil, at.wrong("a second plan begins here: a file has one")
	}
	switch body := file.Docs[0].Body.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return nil, errEmptyPlan
	case *ast.MappingNode:
		if len(body.Values) == 0 {
			return nil, errEmptyPlan
		}
		return body, nil
	default:
		return nil, nodePosition(body).wrong("this is not a plan: it begins with profile, seed or faults")
	}
}

// position is a place in the text of a plan, from 1.
type position struct{ line, column int }

func positionOf(t *token.Token) position {
	if t == nil {
		return position{1, 1}
	}
	return position{t.Position.Line, t.Position.Column}
}

// nodePosition is where a node begins; that of a mapping without brackets is its first key.
func nodePosition(n ast.Node) position {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		return positionOf(m.Values[0].Key.GetToken())
	}
	return positionOf(n.GetToken())
}

func (p position) wrong(format string, args ...any) *PlanError {
	return &PlanError{p.line, p.column, fmt.Sprintf(format, args...)}
}

// faultSource is where a fault stands: the whole, its fields ("params.x" for a parameter), and each
// of its targets.
type faultSource struct {
	whole   position
	fields  map[string]position
	targets []position
}

// at is the position of a field, or of the fault if it has none such. index is that of a target, or
// negative for all of them.
func (s faultSource) at(field string, index int) position {
	if field == "target" && index >= 0 && index < len(s.targets) {
		return s.targets[index]
	}
	if p, ok := s.fields[field]; ok {
		return p
	}
	return s.whole
}

func (p *Plan) read(root *ast.MappingNode) error {
	var list *ast.SequenceNode
	for _, entry := range root.Values {
		var err error
		switch key, at := entry.Key.GetToken().Value, positionOf(entry.Key.GetToken()); key {
		case "profile":
			if p.Profile, err = text(key, entry.Value); err == nil {
				if known := Profiles(); !slices.Contains(known, p.Profile) {
					err = nodePosition(entry.Value).wrong("there is no fault profile %q; there are %s", p.Profile, strings.Join(known, ", "))
				}
			}
		case "seed":
			p.Seed, err = seed(entry.Value)
		case "faults":
			list, err = sequence(key, entry.Value, "write faults: [] for none")
		default:
			err = at.wrong("unknown field %q; a plan has profile, seed, faults", key)
		}
		if err != nil {
			return err
		}
	}
	if list == nil {
		return nodePosition(root).wrong("the plan has no faults; write faults: [] for none")
	}
	if n := len(list.Values); n > maxPlanFaults {
		return nodePosition(list.Values[maxPlanFaults]).wrong("the plan has %d faults: more than %d are too many", n, maxPlanFaults)
	}
	for i, node := range list.Values {
		f, source, err := readFault(node)
		if err != nil {
			return err
		}
		if f.ID == "" {
			f.ID = fmt.Sprintf("%s/%d", f.Kind, i+1)
		}
		if i := slices.Index(f.Target, There); i >= 0 && f.When == nil {
			return source.at("target", i).wrong("target there goes with when, and stands for the machine that noted: name a machine, or give the fault a when")
		}
		field, wrong := f.check()
		if _, twice := p.source[f.ID]; wrong == nil && twice {
			field, wrong = "id", fmt.Errorf("there are two faults %q", f.ID)
		}
		if wrong != nil {
			return source.at(field, -1).wrong("%v", wrong)
		}
		p.source[f.ID] = source
		p.Faults = append(p.Faults, f)
	}
	return nil
}

func readFault(node ast.Node) (f Fault, source faultSource, err error) {
	source = faultSource{whole: nodePosition(node), fields: map[string]position{}}
	m, ok := node.(*ast.MappingNode)
	if !ok {
		return f, source, source.whole.wrong("this is not a fault: write it like {kind: node.crash, target: [name], from: 2s, to: 4s}")
	}
	for _, entry := range m.Values {
		key, at := entry.Key.GetToken().Value, nodePosition(entry.Value)
		source.fields[key] = at
		switch key {
		case "id":
			f.ID, err = text(key, entry.Value)
		case "kind":
			f.Kind, err = text(key, entry.Value)
		case "target":
			f.Target, source.targets, err = names(entry.Value)
		case "from":
			f.From, err = moment(key, entry.Value)
		case "to":
			f.To, err = moment(key, entry.Value)
		case "when":
			f.When, err = readWhen(entry.Value, source.fields)
		case "for":
			f.For, err = moment(key, entry.Value)
		case "params":
			f.Params, err = params(entry.Value, source.fields)
		default:
			err = positionOf(entry.Key.GetToken()).wrong("unknown field %q; a fault has id, kind, target, from, to, when, for, params", key)
		}
		if err != nil {
			return f, source, err
		}
	}
	for _, required := range []string{"kind", "from"} {
		_, ok := source.fields[required]
		if !ok && (required == "kind" || f.When == nil) {
			return f, source, source.whole.wrong("this fault has no %s", required)
		}
	}
	return f, source, nil
}

// readWhen reads the moment that a fault waits for.
func readWhen(node ast.Node, at map[string]position) (*When, error) {
	m, ok := node.(*ast.MappingNode)
	if !ok {
		return nil, nodePosition(node).wrong("when: there must be a moment here; write it like {note: cdc.owner, nth: 2, after: 5ms}")
	}
	w := &When{}
	for _, entry := range m.Values {
		var err error
		key := entry.Key.GetToken().Value
		at["when."+key] = nodePosition(entry.Value)
		switch key {
		case "note":
			w.Note, err = text(key, entry.Value)
		case "nth":
			w.Nth, err = ordinal(key, entry.Value)
		case "after":
			w.After, err = moment(key, entry.Value)
		default:
			err = positionOf(entry.Key.GetToken()).wrong("unknown field %q; a when has note, nth, after", key)
		}
		if err != nil {
			return nil, err
		}
	}
	return w, nil
}

// maxNth bounds how often something may have to be noted.
const maxNth = 1_000_000

func ordinal(key string, node ast.Node) (int, error) {
	s, ok := scalar(node)
	n, err := strconv.Atoi(s)
	if !ok || err != nil || n < 1 || n > maxNth {
		return 0, nodePosition(node).wrong("%s: %s is not a whole number from 1 to %d", key, written(node), maxNth)
	}
	return n, nil
}

// scalar is the text of a node that is neither list nor mapping.
func scalar(node ast.Node) (text string, ok bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true // as it is written
	}
	return "", false
}

func text(key string, node ast.Node) (string, error) {
	s, ok := scalar(node)
	if !ok {
		return "", nodePosition(node).wrong("%s: there must be a word here", key)
	}
	return s, nil
}

func seed(node ast.Node) (uint64, error) {
	s, ok := scalar(node)
	n, err := strconv.ParseUint(s, 0, 64)
	if !ok || err != nil {
		if errors.Is(err, strconv.ErrRange) {
			return 0, nodePosition(node).wrong("seed: %s is too large", s)
		}
		return 0, nodePosition(node).wrong("seed: %s is not a whole number of at least 0", written(node))
	}
	return n, nil
}

func moment(key string, node ast.Node) (Time, error) {
	s, ok := scalar(node)
	d, err := time.ParseDuration(s)
	if !ok || err != nil || d < 0 {
		return 0, nodePosition(node).wrong("%s: %s is not a time: write it like 1.5s", key, written(node))
	}
	return Time(d), nil
}

// written is how a value is called in a message.
func written(node ast.Node) string {
	switch n := node.(type) {
	case *ast.MappingNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.StringNode:
		return strconv.Quote(n.Value)
	}
	return node.GetToken().Value
}

func sequence(key string, node ast.Node, advice string) (*ast.SequenceNode, error) {
	s, ok := node.(*ast.SequenceNode)
	if !ok {
		return nil, nodePosition(node).wrong("%s: there must be a list here; %s", key, advice)
	}
	return s, nil
}

func names(node ast.Node) (list []string, at []position, err error) {
	s, err := sequence("target", node, "write it like [name]")
	if err != nil {
		return nil, nil, err
	}
	for _, item := range s.Values {
		name, err := text("target", item)
		if err != nil {
			return nil, nil, err
		}
		list, at = append(list, name), append(at, nodePosition(item))
	}
	return list, at, nil
}

// params reads parameters and notes where they stand.
func params(node ast.Node, at map[string]position) (map[string]Value, error) {
	m, ok := node.(*ast.MappingNode)
	if !ok {
		return nil, nodePosition(node).wrong("params: there must be names and values here; write it like {loss: 5%%}")
	}
	values := make(map[string]Value, len(m.Values))
	for _, entry := range m.Values {
		name := entry.Key.GetToken().Value
		value, err := text(name, entry.Value)
		if err != nil {
			return nil, err
		}
		values[name] = Value(value)
		at["params."+name] = nodePosition(entry.Value)
	}
	return values, nil
}
