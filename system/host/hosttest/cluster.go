package hosttest

import (
	"context"
	"testing"
	"time"

	"github.com/simrun-dev/simrun/system/host"
)

// Machines is how many machines a Cluster has.
const Machines = 3

// Cluster is machines that reach each other, numbered from 0. It is used from where the body of a
// Setup runs, not from tasks on the machines.
type Cluster interface {
	// Host is the present life of the process on the machine.
	Host(machine int) host.Host
	// Start starts a task on the machine. Wait returns when it has ended, by itself or with the
	// life of its process, and ends the test when the test has failed meanwhile.
	Start(machine int, task string, fn func(h host.Host)) (wait func())
	// Restart ends the life of the process without warning and begins the next.
	Restart(machine int)
}

// Setup makes a cluster, calls body with it, and takes the cluster down again. Body calls
// t.FailNow from tasks on the machines as well as from where it is called.
type Setup func(t testing.TB, body func(c Cluster))

// test is one of the suite.
type test struct {
	name string
	run  func(t *testing.T, c Cluster)
}

// Run runs the suite, each test with a cluster of its own.
func Run(t *testing.T, setup Setup) {
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"chan", chanTests},
		{"select", selectTests},
		{"time in select", timeCaseTests},
		{"sync", syncTests},
		{"context", contextTests},
		{"clock", clockTests},
		{"process", processTests},
		{"conn", connTests},
		{"conn end", connEndTests},
		{"listener", listenerTests},
		{"socket", socketTests},
		{"stream", streamTests},
		{"disk", diskTests},
		{"durability", durabilityTests},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, test := range group.tests {
				t.Run(test.name, func(t *testing.T) {
					setup(t, func(c Cluster) { test.run(t, c) })
				})
			}
		})
	}
}

// alone is a test of one machine, in one task.
func alone(fn func(t *testing.T, h host.Host)) func(*testing.T, Cluster) {
	return func(t *testing.T, c Cluster) {
		c.Start(0, "test", func(h host.Host) { fn(t, h) })()
	}
}

var background = context.Background()

// limit is a context that ends when what the test waits for will not come any more.
func limit(h host.Host) context.Context {
	ctx, _ := h.Clock().WithTimeout(background, time.Minute)
	return ctx
}

// brief is a context that ends soon, to show that something waits.
func brief(h host.Host) (context.Context, context.CancelFunc) {
	return h.Clock().WithTimeout(background, 5*time.Millisecond)
}

// moment gives what must not happen a chance to.
func moment(h host.Host) {
	for range 5 {
		h.Clock().Sleep(time.Millisecond)
	}
}

// eventually waits until cond holds.
func eventually(t *testing.T, h host.Host, what string, cond func() bool) {
	t.Helper()
	for range 20_000 {
		if cond() {
			return
		}
		h.Clock().Sleep(time.Millisecond)
	}
	t.Fatalf("waited in vain until %s", what)
}
