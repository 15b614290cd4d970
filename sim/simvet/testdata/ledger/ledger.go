// Package ledger is imported by the other test packages: what is known of its functions has to come
// from here.
package ledger

import (
	"context"
	"errors"
	"slices"

	"github.com/simrun-dev/simrun/system/host"
)

// Ledger is what the functions below do something to.
type Ledger struct {
	H       host.Host
	Inbox   *host.Chan[string]
	Total   int
	Entries map[string]int
	Last    string
	Log     []string
}

// Double only computes.
func Double(n int) int { return 2 * n }

// Count adds up.
func (l *Ledger) Count(n int) { l.Total += n }

// Add adds up, and can fail.
func (l *Ledger) Add(n int) error {
	if n < 0 {
		return errors.New("negative")
	}
	l.Total += n
	return nil
}

// Set has a place of its own for each name.
func (l *Ledger) Set(name string, n int) { l.Entries[name] = n }

// Next is another number with each call.
func (l *Ledger) Next() int {
	l.Total++
	return l.Total
}

// Keep keeps the last.
func (l *Ledger) Keep(name string) { l.Last = name }

// Append keeps the order.
func (l *Ledger) Append(name string) { l.record(name) }

func (l *Ledger) record(name string) { l.Log = append(l.Log, name) }

// Report logs, two calls down.
func (l *Ledger) Report(name string) { l.report(name) }

func (l *Ledger) report(name string) { l.H.Logf("%s", name) }

// Even and Odd call each other in a circle, and one of them logs.
func (l *Ledger) Even(n int) bool {
	if n == 0 {
		return true
	}
	return l.Odd(n - 1)
}

// Odd is the other one.
func (l *Ledger) Odd(n int) bool {
	if n == 0 {
		l.H.Logf("odd")
		return false
	}
	return l.Even(n - 1)
}

// Ordered sorts a copy.
func Ordered(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return names
}

// Wait waits, two calls down.
func (l *Ledger) Wait() string { return l.next() }

func (l *Ledger) next() string {
	name, _ := l.Inbox.Recv()
	return name
}

// Poll does not wait.
func (l *Ledger) Poll() (string, bool) {
	name, ok, _ := l.Inbox.TryRecv()
	return name, ok
}

// Store is an interface whose implementation waits.
type Store interface {
	Get(ctx context.Context) ([]byte, error)
}

// Remote is that implementation.
type Remote struct{ Conn host.Conn }

// Get waits for the peer.
func (r *Remote) Get(ctx context.Context) ([]byte, error) { return r.Conn.Recv(ctx) }
