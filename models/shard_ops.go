package models

import (
	"fmt"
	"strings"
)

// Kinds of operation on a shard. Each says which input it is recorded with, and which outputs
// with which outcome; an outcome of Fail may always have a nil output, for an error that surely
// did nothing.
const (
	// KindCompareAndAppend: input [CompareAndAppend]. Ok: nil. Fail: [UpperMismatch],
	// [InvalidUsage].
	KindCompareAndAppend = "compare_and_append"
	// KindFetchUpper, FetchRecentUpper: input [FetchUpper]. Ok: [Upper]. An upper that a handle
	// remembers may be stale and must not be recorded as one.
	KindFetchUpper = "fetch_upper"
	// KindSnapshot, SnapshotAndFetch: input [Snapshot]. Ok: [Contents]. Fail: [SinceError],
	// [LeaseExpired].
	KindSnapshot = "snapshot"
	// KindOpenReader: input [OpenReader]. Ok: [Since].
	KindOpenReader = "open_reader"
	// KindDowngradeSince: input [DowngradeSince]. Ok: [Since]. Fail: [LeaseExpired].
	KindDowngradeSince = "downgrade_since"
	// KindOpenCritical: input [OpenCritical]. Ok: [Hold].
	KindOpenCritical = "open_critical"
	// KindCompareAndDowngradeSince: input [CompareAndDowngradeSince]. Ok: [Since]. Fail:
	// [OpaqueMismatch].
	KindCompareAndDowngradeSince = "compare_and_downgrade_since"
)

// CompareAndAppend asks to append the updates and to move the upper from Expected to New, if the
// upper is Expected. Give every call rows of its own, retries by the workload included: it is by
// its rows that the oracles recognise an append whose outcome is unknown.
type CompareAndAppend struct {
	Shard    string   `json:"shard"`
	Expected Frontier `json:"expected"`
	New      Frontier `json:"new"`
	Updates  []Update `json:"updates,omitempty"`
}

func (c CompareAndAppend) String() string {
	return fmt.Sprintf("(shard %s, %v to %v, %d updates)", c.Shard, c.Expected, c.New, len(c.Updates))
}

// Misuse says which bounds the request breaks, "" if none. A shard must answer one that breaks
// any with InvalidUsage, whatever its state.
func (c CompareAndAppend) Misuse() string {
	switch {
	case c.Expected.Empty:
		return "its expected upper is []"
	case c.New.Less(c.Expected):
		return "its new upper lies before its expected upper"
	}
	for _, u := range c.Updates {
		if u.TS < c.Expected.T || !c.New.Beyond(u.TS) {
			return fmt.Sprintf("its update of %s at time %d lies outside its bounds", quoteRow(u.Data), u.TS)
		}
	}
	return ""
}

// UpperMismatch is the answer that nothing was written because the upper was Current.
type UpperMismatch struct {
	Current Frontier `json:"current"`
}

func (u UpperMismatch) String() string { return fmt.Sprintf("upper mismatch(current %v)", u.Current) }

// InvalidUsage is the answer that nothing was written because the request makes no sense, or
// the handle is closed.
type InvalidUsage struct{}

func (InvalidUsage) String() string { return "invalid usage" }

// FetchUpper asks for the shard's upper, at least as recent as the call.
type FetchUpper struct {
	Shard string `json:"shard"`
}

func (f FetchUpper) String() string { return fmt.Sprintf("(shard %s)", f.Shard) }

// Upper is the answer to [FetchUpper].
type Upper struct {
	Upper Frontier `json:"upper"`
}

func (u Upper) String() string { return u.Upper.String() }

// Snapshot asks for the contents as of a time.
type Snapshot struct {
	Shard string `json:"shard"`
	AsOf  uint64 `json:"as_of"`
	// Reader names the reader whose own hold may have moved past AsOf, so that a since error
	// may tell of that hold and not of the shard. Name it whenever the same reader is also
	// recorded with [OpenReader] or [DowngradeSince]. "" is a fresh reader, whose hold is the
	// shard's since.
	Reader string `json:"reader,omitempty"`
	// Live is the workload's word that the reader's lease cannot have run out before the
	// answer. Then the shard must honour the hold.
	Live bool `json:"live,omitempty"`
}

func (s Snapshot) String() string {
	return fmt.Sprintf("(shard %s, as of %d%s)", s.Shard, s.AsOf, readerText(s.Reader, s.Live))
}

// Contents is the answer to [Snapshot]: rows as the shard gave them, in any order.
type Contents struct {
	Rows []Row `json:"rows"`
}

func (c Contents) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows", len(c.Rows))
	for i, r := range c.Rows {
		if i == rowsShown {
			b.WriteString(", ...")
			break
		}
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s x%d", sep, quoteRow(r.Data), r.Diff)
	}
	return b.String()
}

// SinceError is the answer that contents as of the time asked for are gone: the since is Since.
type SinceError struct {
	Since Frontier `json:"since"`
}

func (s SinceError) String() string { return fmt.Sprintf("since error(since %v)", s.Since) }

// LeaseExpired is the answer that the reader's lease ran out.
type LeaseExpired struct{}

func (LeaseExpired) String() string { return "lease expired" }

// OpenReader registers a leased reader. Ids are used once.
type OpenReader struct {
	Shard  string `json:"shard"`
	Reader string `json:"reader"`
}

func (o OpenReader) String() string { return fmt.Sprintf("(shard %s, reader %s)", o.Shard, o.Reader) }

// Since is what a holder holds back after an operation. To a leased reader that had asked for
// less, [] says that its lease had run out.
type Since struct {
	Since Frontier `json:"since"`
}

func (s Since) String() string { return "since " + s.Since.String() }

// DowngradeSince lets a leased reader's hold move up to Since; lower ones leave it as it is.
type DowngradeSince struct {
	Shard  string   `json:"shard"`
	Reader string   `json:"reader"`
	Since  Frontier `json:"since"`
	// Live is as in [Snapshot].
	Live bool `json:"live,omitempty"`
}

func (d DowngradeSince) String() string {
	return fmt.Sprintf("(shard %s, to %v%s)", d.Shard, d.Since, readerText(d.Reader, d.Live))
}

// OpenCritical opens the critical hold ID, registering it with this opaque value if there is
// none.
type OpenCritical struct {
	Shard  string `json:"shard"`
	ID     string `json:"id"`
	Opaque uint64 `json:"opaque"`
}

func (o OpenCritical) String() string {
	return fmt.Sprintf("(shard %s, id %s, default opaque %d)", o.Shard, o.ID, o.Opaque)
}

// Hold is the state of a critical hold.
type Hold struct {
	Opaque uint64   `json:"opaque"`
	Since  Frontier `json:"since"`
}

func (h Hold) String() string { return fmt.Sprintf("opaque %d, since %v", h.Opaque, h.Since) }

// CompareAndDowngradeSince moves the critical hold ID up to Since and its opaque value to New,
// if the opaque value is Expected. Opaque values are epochs: one that was replaced does not
// come back.
type CompareAndDowngradeSince struct {
	Shard    string   `json:"shard"`
	ID       string   `json:"id"`
	Expected uint64   `json:"expected"`
	New      uint64   `json:"new"`
	Since    Frontier `json:"since"`
}

func (c CompareAndDowngradeSince) String() string {
	return fmt.Sprintf("(shard %s, id %s, opaque %d to %d, since to %v)",
		c.Shard, c.ID, c.Expected, c.New, c.Since)
}

// OpaqueMismatch is the answer that the opaque value was Actual. Actual may be the caller's own
// new value: an attempt that was not known to have succeeded did.
type OpaqueMismatch struct {
	Actual uint64 `json:"actual"`
}

func (o OpaqueMismatch) String() string { return fmt.Sprintf("opaque mismatch(actual %d)", o.Actual) }

func readerText(reader string, live bool) string {
	if reader == "" {
		return ""
	}
	if live {
		return ", reader " + reader + " with a live lease"
	}
	return ", reader " + reader
}
