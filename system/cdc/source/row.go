package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/simrun-dev/simrun/system/cdc/model"
)

// KeySpan is a range of keys.
type KeySpan struct {
	_  struct{} `cbor:",toarray"`
	ID model.KeySpanID
	// Start is its first key, End the key before which it ends; "" is without end.
	Start, End string
	// AddTs is when it was added: its rows have larger commit ts.
	AddTs model.Ts
	// DropTs is when it was dropped, 0 while it was not. Its rows have commit ts up to that.
	DropTs model.Ts
}

// Contains tells whether the key is in the range.
func (s KeySpan) Contains(key string) bool { return key >= s.Start && (s.End == "" || key < s.End) }

func (s KeySpan) overlaps(o KeySpan) bool {
	return (s.End == "" || o.Start < s.End) && (o.End == "" || s.Start < o.End)
}

// Row is a change of one key.
type Row struct {
	_        struct{} `cbor:",toarray"`
	Span     model.KeySpanID
	Key      string
	CommitTs model.Ts
	// Value is what the key has since, unless it was Deleted.
	Value   string
	Deleted bool
	// Prev is what it had before, if it was there: Existed.
	Prev    string
	Existed bool
}

func (r Row) String() string {
	if r.Deleted {
		return fmt.Sprintf("%q deleted@%d", r.Key, r.CommitTs)
	}
	return fmt.Sprintf("%q=%q@%d", r.Key, r.Value, r.CommitTs)
}

// Compare orders rows by commit ts, and those of one by key.
func Compare(a, b Row) int {
	return cmp.Or(cmp.Compare(a.CommitTs, b.CommitTs), strings.Compare(a.Key, b.Key))
}

// Mutation is what a transaction does to a key. Of several of one key the last counts.
type Mutation struct {
	_      struct{} `cbor:",toarray"`
	Key    string
	Value  string
	Delete bool
}

// Put sets a key's value.
func Put(key, value string) Mutation { return Mutation{Key: key, Value: value} }

// Delete deletes a key. One that is not there leaves no row.
func Delete(key string) Mutation { return Mutation{Key: key, Delete: true} }

// Spans are the key spans that there are.
type Spans struct {
	_ struct{} `cbor:",toarray"`
	// AsOf: every span added later has a larger AddTs, and every one dropped later a larger DropTs.
	AsOf model.Ts
	// Spans are sorted by id. Those dropped are among them until history up to their DropTs was given
	// up.
	Spans []KeySpan
	// Safepoint is from where on history is kept. A reader that is behind it can't go on, and does not see here
	// all spans that there were.
	Safepoint model.Ts
}

// Find returns the span of that id.
func (s Spans) Find(id model.KeySpanID) (KeySpan, bool) {
	i, ok := slices.BinarySearchFunc(s.Spans, id, func(s KeySpan, id model.KeySpanID) int { return cmp.Compare(s.ID, id) })
	if !ok {
		return KeySpan{}, false
	}
	return s.Spans[i], true
}

// Cursor is how far a reader of changes has come.
type Cursor struct {
	_    struct{} `cbor:",toarray"`
	Span model.KeySpanID
	// After: rows with larger commit ts are wanted.
	After model.Ts
}

// Changes are some rows of a span.
type Changes struct {
	_ struct{} `cbor:",toarray"`
	// Rows are in no particular order, and some may be there twice.
	Rows []Row
	// Next is where to go on.
	Next Cursor
	// Resolved: all rows of commit ts up to it have been returned, here or before.
	Resolved model.Ts
}

// Commit is what a transaction did, or the adding or dropping of a span.
type Commit struct {
	Ts model.Ts
	// Rows are sorted by key.
	Rows []Row
	// Added and Dropped are the span that it added or dropped, if so.
	Added, Dropped *KeySpan
}
