package scenarios

import "github.com/simrun-dev/simrun/system/host"

// watched is a process of whose notes and situations the injector is told, for the faults that wait
// for them. It is told by the process itself, so that nothing else in the run changes.
type watched struct {
	host.Host
	run *Run
}

// watch is the process as its code is to see it.
func (r *Run) watch(h host.Host) host.Host {
	if !r.injector.Listens() {
		return h
	}
	return &watched{h, r}
}

// noted tells the injector, unless the process has died: it has no effect then.
func (w *watched) noted(note string) {
	node := w.run.World.Node(w.Name())
	if node.Up() && node.Incarnation() == w.Incarnation() {
		w.run.injector.Noted(w.Name(), note)
	}
}

// Note implements host.Host.
func (w *watched) Note(key, value string) {
	w.Host.Note(key, value)
	w.noted(key)
}

// Sometimes implements host.Checks.
func (w *watched) Sometimes(name string, ok bool) {
	w.Host.Sometimes(name, ok)
	if ok {
		w.noted(name)
	}
}

// Reachable implements host.Checks.
func (w *watched) Reachable(name string) {
	w.Host.Reachable(name)
	w.noted(name)
}

// Moment makes a note or a situation of the scenario's machines one that faults are aimed at; see
// [faults.When]. Those of the systems that come with simrun are known already.
func (r *Run) Moment(note string) { r.topology.Moments = append(r.topology.Moments, note) }

var _ host.Host = (*watched)(nil)
