package sim

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/zeebo/xxh3"
)

// A recording is a header and then one entry after the other: definitions of tasks, nodes and
// links, each before its first use, and events. Numbers are varints, times and causes are
// differences to the event before, and what can be worked out from the rest (hashes of texts, the
// trace hash) is left out. That makes some 10 bytes an event.
const (
	recordingMagic = "simrun trace 1\n"

	defineTask = 0xf0 + iota
	defineNode
	defineLink
)

// recorder writes the events of a world.
type recorder struct {
	buf    []byte
	to     io.Writer // nil keeps all in buf
	err    error
	ended  bool
	lastAt int64
	// How many are defined.
	tasks, nodes, links int
}

const recorderChunk = 64 << 10

func newRecorder(seed uint64, to io.Writer) *recorder {
	r := &recorder{to: to, tasks: 1} // task 0 is none
	r.buf = append(r.buf, recordingMagic...)
	r.buf = binary.LittleEndian.AppendUint64(r.buf, seed)
	return r
}

// end makes nothing more be recorded: taking a world down is not part of its run.
func (r *recorder) end() {
	r.flush()
	r.ended = true
}

func (r *recorder) flush() {
	if r.to == nil || r.err != nil {
		return
	}
	_, r.err = r.to.Write(r.buf)
	r.buf = r.buf[:0]
}

func (r *recorder) define(w *World) {
	for ; r.nodes < len(w.nodes); r.nodes++ {
		r.buf = append(r.buf, defineNode)
		r.string(w.nodes[r.nodes].name)
	}
	for ; r.tasks < len(w.taskNames); r.tasks++ {
		t := &w.taskNames[r.tasks]
		r.buf = append(r.buf, defineTask)
		r.uint(uint64(t.node))
		r.string(t.name)
	}
	for ; r.links < len(w.net.byNumber); r.links++ {
		l := w.net.byNumber[r.links]
		r.buf = append(r.buf, defineLink)
		r.uint(uint64(l.from.number))
		r.uint(uint64(l.to.number))
	}
}

func (r *recorder) uint(v uint64) { r.buf = binary.AppendUvarint(r.buf, v) }

func (r *recorder) string(s string) {
	r.uint(uint64(len(s)))
	r.buf = append(r.buf, s...)
}

// head begins an event.
func (r *recorder) head(w *World, kind EventKind, who uint32) {
	if r.tasks < len(w.taskNames) || r.nodes < len(w.nodes) || r.links < len(w.net.byNumber) {
		r.define(w)
	}
	if r.to != nil && len(r.buf) >= recorderChunk {
		r.flush()
	}
	r.buf = append(r.buf, byte(kind))
	r.uint(uint64(w.now - r.lastAt))
	r.lastAt = w.now
	r.uint(uint64(who))
	if !kind.ofTask() {
		task := uint32(0)
		if w.cur != nil {
			task = w.cur.id
		}
		r.uint(uint64(task))
	}
}

func (r *recorder) event(w *World, kind EventKind, who uint32, a, b, cause uint64) {
	if r.ended || r.err != nil {
		return
	}
	r.head(w, kind, who)
	r.uint(a)
	if kind.hashed() {
		r.buf = binary.LittleEndian.AppendUint64(r.buf, b)
	} else {
		r.uint(b)
	}
	if cause != 0 {
		cause = w.trace.events - cause
	}
	r.uint(cause)
}

func (r *recorder) text(w *World, kind EventKind, who uint32, first, second string) {
	if r.ended || r.err != nil {
		return
	}
	r.head(w, kind, who)
	r.string(first)
	if kind == EventNote {
		r.string(second)
	}
}

// ofTask tells whether events of the kind are about a task, not a node.
func (k EventKind) ofTask() bool {
	return k == EventSpawn || k == EventRun || k == EventExit || k == EventKill
}

// worded tells whether events of the kind are words.
func (k EventKind) worded() bool {
	switch k {
	case EventLog, EventNote, EventCheck, EventFault, EventOp, EventFail:
		return true
	}
	return false
}

// hashed tells whether B is a hash, which as a varint would take more room.
func (k EventKind) hashed() bool {
	return k == EventSend || k == EventDeliver || k == EventDrop || k == EventDisk
}

// Trace returns the events recorded in memory so far; none unless Config.Record is set.
func (w *World) Trace() []Event {
	r := w.trace.recorder
	if r == nil || r.to != nil {
		return nil
	}
	events := make([]Event, 0, w.trace.events)
	for e, err := range ReadTrace(bytes.NewReader(r.buf)) {
		if err != nil {
			panic("sim: a recording that can't be read: " + err.Error())
		}
		events = append(events, e)
	}
	return events
}

// RecordError is what went wrong in writing to Config.RecordTo, if anything.
func (w *World) RecordError() error {
	if w.trace.recorder == nil {
		return nil
	}
	return w.trace.recorder.err
}

// ErrNotTrace is the error for what is not a recording of this version.
var ErrNotTrace = errors.New("sim: not a recorded trace of this version")

// ReadTrace reads a recording. An error ends it: ErrNotTrace, io.ErrUnexpectedEOF where the
// recording was cut off, or the reader's.
func ReadTrace(from io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		d := decoder{r: bufio.NewReader(from), tasks: []taskName{{}}}
		if err := d.header(); err != nil {
			yield(Event{}, err)
			return
		}
		for {
			e, err := d.next()
			if err == io.EOF {
				return
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

type decoder struct {
	r      *bufio.Reader
	trace  trace
	lastAt int64
	tasks  []taskName
	nodes  []string
	links  [][2]uint64
	err    error
}

func (d *decoder) header() error {
	var seed [8]byte
	magic := make([]byte, len(recordingMagic))
	if _, err := io.ReadFull(d.r, magic); err != nil || string(magic) != recordingMagic {
		return ErrNotTrace
	}
	if _, err := io.ReadFull(d.r, seed[:]); err != nil {
		return ErrNotTrace
	}
	d.trace = newTrace(binary.LittleEndian.Uint64(seed[:]))
	return nil
}

func (d *decoder) uint() (v uint64) {
	for shift := 0; shift < 64; shift += 7 {
		b, err := d.r.ReadByte()
		if err != nil {
			d.fail(err)
			return 0
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	d.fail(fmt.Errorf("%w: it has a number of more than 64 bits", ErrNotTrace))
	return 0
}

func (d *decoder) fail(err error) {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if d.err == nil {
		d.err = err
	}
}

func (d *decoder) string() string {
	n := d.uint()
	if d.err != nil || n > 1<<30 {
		d.fail(io.ErrUnexpectedEOF)
		return ""
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, d.r, int64(n)); err != nil {
		d.fail(err)
	}
	return b.String()
}

func (d *decoder) node(number uint64) string {
	if number >= uint64(len(d.nodes)) {
		d.fail(fmt.Errorf("%w: it names node %d of %d", ErrNotTrace, number, len(d.nodes)))
		return ""
	}
	return d.nodes[number]
}

func (d *decoder) task(number uint64) taskName {
	if number >= uint64(len(d.tasks)) {
		d.fail(fmt.Errorf("%w: it names task %d of %d", ErrNotTrace, number, len(d.tasks)))
		return taskName{}
	}
	return d.tasks[number]
}

// next reads up to and with the next event. io.EOF is the regular end.
func (d *decoder) next() (Event, error) {
	for d.err == nil {
		tag, err := d.r.ReadByte()
		if err != nil {
			return Event{}, err
		}
		switch tag {
		case defineNode:
			d.nodes = append(d.nodes, d.string())
		case defineTask:
			node := d.uint()
			d.tasks = append(d.tasks, taskName{d.string(), uint32(node)})
		case defineLink:
			d.links = append(d.links, [2]uint64{d.uint(), d.uint()})
		default:
			if e := d.event(EventKind(tag)); d.err == nil {
				return e, nil
			}
		}
	}
	return Event{}, d.err
}

func (d *decoder) event(kind EventKind) Event {
	if kind == 0 || int(kind) >= len(eventNames) {
		d.fail(fmt.Errorf("%w: it has an event of kind %d", ErrNotTrace, kind))
		return Event{}
	}
	e := Event{Kind: kind}
	d.lastAt += int64(d.uint())
	e.At = d.lastAt
	who := d.uint()
	if kind.ofTask() {
		t := d.task(who)
		e.Task, e.Node = t.name, d.node(uint64(t.node))
	} else {
		e.Node = d.node(who)
		e.Task = d.task(d.uint()).name
	}
	back := uint64(0)
	switch {
	case kind == EventNote:
		key, value := d.string(), d.string()
		e.A, e.B, e.Text = xxh3.HashString(key), xxh3.HashString(value), key+" = "+value
	case kind.worded():
		e.Text = d.string()
		e.A = xxh3.HashString(e.Text)
	default:
		e.A = d.uint()
		if kind.hashed() {
			var b [8]byte
			_, err := io.ReadFull(d.r, b[:])
			d.fail(err)
			e.B = binary.LittleEndian.Uint64(b[:])
		} else {
			e.B = d.uint()
		}
		back = d.uint()
	}
	switch kind {
	case EventSend, EventDeliver, EventDrop, EventConn:
		if e.A >= uint64(len(d.links)) || kind == EventConn && e.B >= uint64(len(connStateNames)) {
			d.fail(fmt.Errorf("%w: it names link %d of %d", ErrNotTrace, e.A, len(d.links)))
			return e
		}
		e.From, e.To = d.node(d.links[e.A][0]), d.node(d.links[e.A][1])
	case EventDisk:
		if e.A>>48 >= uint64(len(diskOpNames)) {
			d.fail(fmt.Errorf("%w: it has disk operation %d", ErrNotTrace, e.A>>48))
		}
	}
	d.trace.fold(uint64(e.At), uint64(kind)<<32|who, e.A, e.B)
	e.Number, e.Hash = d.trace.events, d.trace.hash
	if back != 0 {
		e.Cause = e.Number - back
	}
	return e
}
