package dataflow

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/simrun-dev/simrun/system/persist"
)

// Arrangement keeps a collection for reading as of any time in [since, upper), as a whole or by a
// key. Outputs of a dataflow go in at the upper; history before the since is merged.
//
// It is a list of sorted batches, each less than half as long as the one before it: a new one is
// merged with its predecessors until that is so.
type Arrangement struct {
	keyer        keyer
	since, upper Frontier
	batches      [][]arranged
	errors       []ErrorUpdate // consolidated
	// merged is how many entries there were when all was last merged, loose how many of them had
	// times beyond the since, and loose they are until the since is at or beyond due.
	merged, loose int
	due           Frontier
}

// arranged is an update with its key.
type arranged struct {
	key string
	Update
}

func (a *arranged) compare(b *arranged) int {
	return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(string(a.Row), string(b.Row)), cmp.Compare(a.Time, b.Time))
}

// What can be wrong with a read. They are the causes of a [ReadError].
var (
	ErrCompacted = errors.New("the time is before the since")
	ErrNotSealed = errors.New("the time is not before the upper yet")
)

// ReadError says that an arrangement can't tell its contents as of a time.
type ReadError struct {
	AsOf         uint64
	Since, Upper Frontier
	// Cause is [ErrCompacted] or [ErrNotSealed].
	Cause error
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("dataflow: cannot read as of %d, since %v, upper %v: %v", e.AsOf, e.Since, e.Upper, e.Cause)
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Cause }

// ErrGap: an output was put into an arrangement whose upper is not the output's lower.
var ErrGap = errors.New("dataflow: the output does not start at the arrangement's upper")

// NewArrangement is an empty arrangement with since and upper at asOf, of rows of the schema,
// by the key columns.
func NewArrangement(schema Schema, key []int, asOf uint64) (*Arrangement, error) {
	for _, c := range key {
		if err := schema.has(c); err != nil {
			return nil, err
		}
	}
	at := persist.At(asOf)
	return &Arrangement{keyer: columnKeyer(key, len(schema.Columns)), since: at, upper: at}, nil
}

// Since is the first time as of which the arrangement can be read.
func (a *Arrangement) Since() Frontier { return a.since }

// Upper is the first time as of which it can't be read yet.
func (a *Arrangement) Upper() Frontier { return a.upper }

// Len is how many updates the arrangement holds.
func (a *Arrangement) Len() int {
	n := len(a.errors)
	for _, b := range a.batches {
		n += len(b)
	}
	return n
}

// Apply puts in what comes next. The error is [ErrGap].
func (a *Arrangement) Apply(out Output) error {
	if out.Lower != a.upper {
		return fmt.Errorf("%w: [%v, %v) at %v", ErrGap, out.Lower, out.Upper, a.upper)
	}
	a.upper = out.Upper
	if a.since.IsEmpty() {
		return nil // nobody will ever read it
	}
	a.errors = ConsolidateErrors(append(a.errors, a.forwardErrors(slices.Clone(out.Errors))...))
	if len(out.Updates) == 0 {
		return nil
	}
	batch := make([]arranged, len(out.Updates))
	for i, u := range out.Updates {
		key, _ := a.keyer.key(u.Row) // plain columns don't fail
		batch[i] = arranged{string(key), u}
	}
	a.batches = append(a.batches, batch)
	a.mergeFrom(len(a.batches) - 1)
	for n := len(a.batches); n > 1 && len(a.batches[n-2]) <= 2*len(a.batches[n-1]); n = len(a.batches) {
		a.mergeFrom(n - 2) // which may come to nothing
	}
	a.mergeIfGrown()
	return nil
}

// AllowCompaction lets history before the frontier be merged. The since becomes the frontier if
// that is later; it may be beyond the upper. With the empty frontier all is dropped.
func (a *Arrangement) AllowCompaction(since Frontier) {
	a.since = a.since.Join(since)
	if a.since.IsEmpty() {
		a.batches, a.errors = nil, nil
		return
	}
	a.errors = ConsolidateErrors(a.forwardErrors(a.errors))
	if 2*a.loose > a.Len() && !a.since.Before(a.due) {
		a.mergeAll()
	}
}

// mergeIfGrown merges all when there is twice as much as after the last time, so that what
// can be given up is, at a cost in proportion to what came.
func (a *Arrangement) mergeIfGrown() {
	if a.Len() > 2*a.merged+64 {
		a.mergeAll()
	}
}

func (a *Arrangement) mergeAll() {
	a.mergeFrom(0)
	a.merged, a.loose, a.due = a.Len(), 0, a.upper
	for _, b := range a.batches {
		for i := range b {
			if a.since.LessThan(b[i].Time) {
				a.loose++
			}
		}
	}
}

// mergeFrom makes one batch of the i-th and those behind it.
func (a *Arrangement) mergeFrom(i int) {
	if i >= len(a.batches) {
		return
	}
	if merged := a.tidy(slices.Concat(a.batches[i:]...)); len(merged) > 0 {
		a.batches = append(a.batches[:i], merged)
	} else {
		a.batches = a.batches[:i]
	}
}

// tidy sorts a batch, brings times before the since forward to it, and consolidates.
func (a *Arrangement) tidy(batch []arranged) []arranged {
	for i := range batch {
		batch[i].Time = a.forward(batch[i].Time)
	}
	slices.SortFunc(batch, func(a, b arranged) int { return a.compare(&b) })
	return fold(batch,
		func(a, b *arranged) bool { return a.Time == b.Time && a.Row == b.Row },
		func(u *arranged) *int64 { return &u.Diff })
}

// forward is a time as it can be told from the since on.
func (a *Arrangement) forward(time uint64) uint64 {
	since, _ := a.since.Time()
	return max(time, since)
}

func (a *Arrangement) forwardErrors(errors []ErrorUpdate) []ErrorUpdate {
	for i := range errors {
		errors[i].Time = a.forward(errors[i].Time)
	}
	return errors
}

func (a *Arrangement) readable(asOf uint64) error {
	e := &ReadError{AsOf: asOf, Since: a.since, Upper: a.upper}
	switch {
	case !a.since.LessEqual(asOf):
		e.Cause = ErrCompacted
	case a.upper.LessEqual(asOf):
		e.Cause = ErrNotSealed
	default:
		return nil
	}
	return e
}

// Snapshot is the contents as of a time: rows, sorted, and errors, if any. While there are errors
// the rows are not all there should be. The error is a [*ReadError].
func (a *Arrangement) Snapshot(asOf uint64) ([]RowCount, []ErrorCount, error) {
	return a.read(asOf, func(batch []arranged) []arranged { return batch })
}

// Lookup is Snapshot, only of the rows with that key, and all errors.
func (a *Arrangement) Lookup(key Row, asOf uint64) ([]RowCount, []ErrorCount, error) {
	return a.read(asOf, func(batch []arranged) []arranged {
		from := sort.Search(len(batch), func(i int) bool { return batch[i].key >= string(key) })
		to := from + sort.Search(len(batch)-from, func(i int) bool { return batch[from+i].key > string(key) })
		return batch[from:to]
	})
}

// read adds up what pick picks of each batch.
func (a *Arrangement) read(asOf uint64, pick func([]arranged) []arranged) ([]RowCount, []ErrorCount, error) {
	if err := a.readable(asOf); err != nil {
		return nil, nil, err
	}
	var rows []RowCount
	for _, b := range a.batches {
		for _, u := range pick(b) {
			if u.Time <= asOf {
				rows = append(rows, RowCount{Row: u.Row, Count: u.Diff})
			}
		}
	}
	slices.SortFunc(rows, func(a, b RowCount) int { return strings.Compare(string(a.Row), string(b.Row)) })
	rows = fold(rows,
		func(a, b *RowCount) bool { return a.Row == b.Row },
		func(c *RowCount) *int64 { return &c.Count })

	var errs []ErrorCount
	for _, u := range a.errors {
		if u.Time <= asOf {
			errs = append(errs, ErrorCount{Err: u.Err, Count: u.Diff})
		}
	}
	slices.SortFunc(errs, func(a, b ErrorCount) int { return a.Err.Compare(b.Err) })
	errs = fold(errs,
		func(a, b *ErrorCount) bool { return a.Err == b.Err },
		func(c *ErrorCount) *int64 { return &c.Count })
	return rows, errs, nil
}

// From is what another dataflow needs that is to read this collection from asOf on: its contents
// as of then, at that time, and what came after it, up to the upper. The outputs that go in from
// now on follow. The error is a [*ReadError] if asOf is before the since; it may be beyond the
// upper.
func (a *Arrangement) From(asOf uint64) (Output, error) {
	if !a.since.LessEqual(asOf) {
		return Output{}, &ReadError{AsOf: asOf, Since: a.since, Upper: a.upper, Cause: ErrCompacted}
	}
	out := Output{Lower: persist.At(asOf).Meet(a.upper), Upper: a.upper}
	for _, b := range a.batches {
		for _, u := range b {
			u.Update.Time = max(u.Time, asOf)
			out.Updates = append(out.Updates, u.Update)
		}
	}
	for _, u := range a.errors {
		u.Time = max(u.Time, asOf)
		out.Errors = append(out.Errors, u)
	}
	out.Updates, out.Errors = Consolidate(out.Updates), ConsolidateErrors(out.Errors)
	return out, nil
}
