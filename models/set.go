package models

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// OracleSet is the name of the oracle of sets.
const OracleSet = "set/linearizable"

// Kinds of operation on a set, beside [KindAdd] with input [AddElement] and [KindRead] with input
// [ReadSet], answered with [Members].
const (
	KindRemove   = "remove"   // input [RemoveElement]; ok: nil or [Changed]
	KindContains = "contains" // input [ContainsElement]; ok: [Contained]
)

// AddElement puts an element into a set, which is empty at first. Ok may tell whether that
// changed it, with [Changed].
type AddElement struct {
	Set     string `json:"set,omitempty"`
	Element Value  `json:"element"`
}

func (a AddElement) String() string { return keyArguments(a.Set, a.Element) }

// RemoveElement takes an element out of a set.
type RemoveElement struct {
	Set     string `json:"set,omitempty"`
	Element Value  `json:"element"`
}

func (r RemoveElement) String() string { return keyArguments(r.Set, r.Element) }

// Changed is the answer whether an operation changed the set.
type Changed struct {
	Changed bool `json:"changed"`
}

func (c Changed) String() string {
	if c.Changed {
		return "changed"
	}
	return "unchanged"
}

// ContainsElement asks whether an element is in a set.
type ContainsElement struct {
	Set     string `json:"set,omitempty"`
	Element Value  `json:"element"`
}

func (c ContainsElement) String() string { return keyArguments(c.Set, c.Element) }

// Contained is the answer to [ContainsElement].
type Contained struct {
	Contained bool `json:"contained"`
}

func (c Contained) String() string { return fmt.Sprint(c.Contained) }

// ReadSet asks for all elements of a set.
type ReadSet struct {
	Set string `json:"set,omitempty"`
}

func (r ReadSet) String() string { return keyArguments(r.Set) }

// Members is the answer to [ReadSet]: the elements in any order, each once.
type Members struct {
	Elements []Value `json:"elements"`
}

func (m Members) String() string {
	var texts []string
	for i, e := range m.Elements {
		if i == rowsShown {
			texts = append(texts, fmt.Sprintf("... (%d elements)", len(m.Elements)))
			break
		}
		texts = append(texts, e.String())
	}
	return "{" + strings.Join(texts, " ") + "}"
}

// Sets is the oracle of sets.
//
// A set that is never read as a whole is as many independent objects as it has elements. One
// that is only added to and read as a whole is judged exactly in near-linear time
// (set_growing.go). Of others, each element is judged first, as if reads had asked for it alone,
// which finds nearly all there is to find; then orders are searched.
func Sets(h *History) Oracle {
	return Sequential[members]{Spec: setSpec(h), History: h}
}

// members is the state of a set, or of one element: the texts of the elements in order, each
// with a line feed behind it, which no JSON text contains.
type members string

func (m members) String() string {
	return "{" + strings.ReplaceAll(strings.TrimSuffix(string(m), "\n"), "\n", " ") + "}"
}
func (m members) size() int { return len(m) }

// find is where an element is, or would be.
func (m members) find(e Value) (at int, found bool) {
	text := e.member()
	for rest := string(m); rest != ""; {
		end := strings.IndexByte(rest, '\n') + 1
		if rest[:end] >= text {
			return len(m) - len(rest), rest[:end] == text
		}
		rest = rest[end:]
	}
	return len(m), false
}

// member is a value as an element of members.
func (v Value) member() string {
	if v == "" {
		return "null\n"
	}
	return string(v) + "\n"
}

func membersOf(elements []Value) members {
	texts := make([]string, len(elements))
	for i, e := range elements {
		texts[i] = e.member()
	}
	slices.Sort(texts)
	return members(strings.Join(slices.Compact(texts), ""))
}

func setSpec(h *History) Spec[members] {
	whole := map[string]bool{} // the sets that are read as a whole
	read := map[*Op]members{}
	for _, op := range h.Ops() {
		if in, ok := op.Input.(ReadSet); ok && op.Outcome == Ok {
			whole[in.Set] = true
			if out, ok := op.Output.(Members); ok {
				read[op] = membersOf(out.Elements)
			}
		}
	}
	object := func(set string, e Value) string {
		if whole[set] {
			return set
		}
		if set == "" {
			return "element " + string(e)
		}
		return "element " + string(e) + " of " + set
	}
	return Spec[members]{
		Oracle: OracleSet,
		Object: func(op *Op) string {
			switch in := op.Input.(type) {
			case AddElement:
				return object(in.Set, in.Element)
			case RemoveElement:
				return object(in.Set, in.Element)
			case ContainsElement:
				return object(in.Set, in.Element)
			case ReadSet:
				return in.Set
			}
			return ""
		},
		Step: func(m members, op *Op) (members, bool) {
			if _, ok := op.Input.(ReadSet); ok {
				return m, read[op] == m
			}
			return setStep(m, op)
		},
		ReadOnly: func(op *Op) bool { return op.Kind == KindRead || op.Kind == KindContains },
		Alike:    func(op *Op) any { return op.Input },
		Check:    checkSet,
		prepare:  prepareSet,
	}
}

func setStep(m members, op *Op) (members, bool) {
	switch in := op.Input.(type) {
	case AddElement:
		at, found := m.find(in.Element)
		if out, told := op.Output.(Changed); told && out.Changed == found {
			return m, false
		}
		if !found {
			m = m[:at] + members(in.Element.member()) + m[at:]
		}
		return m, true
	case RemoveElement:
		at, found := m.find(in.Element)
		if out, told := op.Output.(Changed); told && out.Changed != found {
			return m, false
		}
		if found {
			m = m[:at] + m[at+len(in.Element.member()):]
		}
		return m, true
	case ContainsElement:
		_, found := m.find(in.Element)
		out, told := op.Output.(Contained)
		return m, !told || out.Contained == found
	}
	return m, true
}

var setInputs = map[string]reflect.Type{
	KindAdd: reflect.TypeFor[AddElement](), KindRemove: reflect.TypeFor[RemoveElement](),
	KindContains: reflect.TypeFor[ContainsElement](), KindRead: reflect.TypeFor[ReadSet](),
}

func checkSet(op *Op) error {
	if err := checkInput(op, setInputs); err != nil {
		return err
	}
	answered := false
	switch op.Kind {
	case KindContains:
		_, answered = op.Output.(Contained)
	case KindRead:
		_, answered = op.Output.(Members)
	default:
		_, changed := op.Output.(Changed)
		answered = changed || op.Output == nil
	}
	if op.Outcome == Ok && !answered || op.Outcome != Ok && op.Output != nil {
		return errOutput(op)
	}
	return nil
}

// elementOf is the element that an operation is about; ok is false for reads of the whole.
func elementOf(op *Op) (e Value, ok bool) {
	switch in := op.Input.(type) {
	case AddElement:
		return in.Element, true
	case RemoveElement:
		return in.Element, true
	case ContainsElement:
		return in.Element, true
	}
	return "", false
}

func prepareSet(ops []*Op, spec *Spec[members]) prepared[members] {
	growing, whole := true, false
	for _, op := range ops {
		_, add := op.Input.(AddElement)
		_, read := op.Input.(ReadSet)
		growing = growing && (read || add && op.Output == nil)
		whole = whole || read
	}
	switch {
	case !whole:
		return prepared[members]{ops: pruneElement(ops)}
	case growing:
		return prepared[members]{ops: ops, found: judgeGrowing(ops), exact: true}
	}
	return judgeElements(ops, spec)
}

// pruneElement drops operations on one element that are open and can't show: additions that
// nobody called before some answer said that the element was there, and removals likewise.
//
// The argument is that of pruneCell: an open addition is either seen by an operation that found
// the element there, before it is removed, or may as well never happen; an open removal the
// other way round.
func pruneElement(ops []*Op) []*Op {
	var there, gone uint64 // the latest returns of answers that said so
	opens := false
	for _, op := range ops {
		opens = opens || op.Outcome == Unknown
		found, told := false, true
		switch out := op.Output.(type) {
		case Contained:
			found = out.Contained
		case Changed:
			_, removes := op.Input.(RemoveElement)
			found = out.Changed == removes
		default:
			told = false
		}
		switch {
		case told && found:
			there = max(there, op.Return)
		case told:
			gone = max(gone, op.Return)
		}
	}
	if !opens {
		return ops
	}
	return slices.DeleteFunc(slices.Clone(ops), func(op *Op) bool {
		if op.Outcome != Unknown {
			return false
		}
		if _, removes := op.Input.(RemoveElement); removes {
			return op.Call > gone
		}
		return op.Call > there
	})
}

func setModel() Model {
	return Model{
		Name: "set",
		Doc:  "sets with add, remove, contains, and reads of the whole",
		Schema: Schema{
			Inputs: setInputs,
			Outputs: map[string]reflect.Type{
				"changed": reflect.TypeFor[Changed](), "contained": reflect.TypeFor[Contained](),
				"members": reflect.TypeFor[Members](),
			},
		},
		Check:   checkSet,
		Jepsen:  setFromJepsen,
		Oracles: func(h *History) []Oracle { return []Oracle{Sets(h)} },
	}
}

// setFromJepsen takes :add, :remove, and :read of all elements. Independent sets have pairs of
// key and value.
func setFromJepsen(e Entry) (kind string, input, output any, err error) {
	key, value, keyed := e.keyed(e.Value)
	switch e.F {
	case KindAdd:
		return e.F, AddElement{key, value}, nil, nil
	case KindRemove:
		return e.F, RemoveElement{key, value}, nil, nil
	case KindRead:
		if e.Outcome == Ok {
			answer := e.Answer
			if keyed && e.Key == "" {
				if _, inner, ok := e.pair(answer); ok {
					answer = inner
				}
			}
			var elements []Value
			if answer != "" && json.Unmarshal([]byte(answer), &elements) != nil {
				return "", nil, nil, fmt.Errorf(":read was answered with %v; want a set or a vector", answer)
			}
			output = Members{elements}
		}
		return e.F, ReadSet{key}, output, nil
	}
	return "", nil, nil, errFunction(e.F)
}
