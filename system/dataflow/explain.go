package dataflow

import (
	"fmt"
	"strings"
)

// String prints the plan, one operator a line, inputs below and indented.
func (p Plan) String() string {
	var b strings.Builder
	p.explain(&b, 0)
	return b.String()
}

func (p Plan) explain(b *strings.Builder, depth int) {
	b.WriteString(strings.Repeat("  ", depth))
	b.WriteString(p.line())
	if len(p.Names) > 0 {
		b.WriteString(" as (" + strings.Join(p.Names, ", ") + ")")
	}
	b.WriteByte('\n')
	for _, in := range p.Inputs {
		in.explain(b, depth+1)
	}
}

// line prints the operator without its inputs.
func (p Plan) line() string {
	switch p.Op {
	case OpGet:
		return "Get " + string(p.Source)
	case OpConstant:
		return fmt.Sprintf("Constant %v %v", Schema{Columns: p.Types}, p.Rows)
	case OpMap:
		return "Map " + join(p.Exprs)
	case OpFilter:
		return "Filter " + join(p.Exprs)
	case OpProject:
		return fmt.Sprintf("Project %v", p.Columns)
	case OpReduce:
		line := fmt.Sprintf("Reduce by [%s] [%s]", join(p.Exprs), join(p.Aggregates))
		if p.Default != "" {
			line += " or " + p.Default.String()
		}
		return line
	case OpDistinct:
		return "Distinct"
	case OpUnion:
		return "Union"
	case OpNegate:
		return "Negate"
	case OpThreshold:
		return "Threshold"
	case OpJoin:
		kind := "Join"
		if p.Outer {
			kind = "LeftJoin"
		}
		return kind + " on " + join(p.On)
	case OpTopK:
		return fmt.Sprintf("TopK by %v order [%s] limit %s offset %d", p.Columns, join(p.Order), limit(p.Limit), p.Offset)
	case OpExpire:
		return fmt.Sprintf("Expire %v after %v", p.Columns, Interval(p.After))
	default:
		return string(p.Op)
	}
}

func limit(n int64) string {
	if n == NoLimit {
		return "none"
	}
	return fmt.Sprint(n)
}

func join[T fmt.Stringer](list []T) string {
	printed := make([]string, len(list))
	for i, x := range list {
		printed[i] = x.String()
	}
	return strings.Join(printed, ", ")
}

// String is "#0 = right #1".
func (o On) String() string { return fmt.Sprintf("#%d = right #%d", o.Left, o.Right) }

// String is "#0 desc nulls last".
func (o Order) String() string {
	s := fmt.Sprintf("#%d", o.Column)
	if o.Desc {
		s += " desc"
	}
	if o.NullsLast {
		s += " nulls last"
	}
	return s
}
