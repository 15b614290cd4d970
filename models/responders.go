package models

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// OracleResponders is the name of [Responders].
const OracleResponders = "storage/responders"

// Responders is the oracle storage/responders: DifferentialWriteTasks keep the promises that
// their answers make.
//
//   - No command is answered twice. By a task that writes, and did not crash, each is answered.
//   - A read-only task never says ok, a writing one never says read only, and nobody says that
//     an identifier is invalid before being asked to shut down.
//   - A command that was answered with an invalid identifier, or sent to a read-only task,
//     never shows in the shard.
//   - The shard's contents are, at every observation, what the task wants after some number of
//     its commands, in the order they were sent: no fewer than it had answered ok before the
//     observation began, and no more than it had been sent when the observation ended. A task
//     that has not written yet leaves the contents its predecessor left.
//
// A rival writer voids the last rule until a command that was sent after the rival's write has
// been answered ok: that answer promises that the contents are exactly what the task wants,
// whatever anybody wrote before.
type Responders struct {
	Log *TaskLog
}

// Name is storage/responders.
func (r Responders) Name() string { return OracleResponders }

// Judge judges all tasks and shards of the log.
func (r Responders) Judge() Judgement {
	var found, undecided []Violation
	judged := 0
	for _, c := range r.Log.commands {
		judged += len(c.answers)
		found = append(found, r.judgeAnswers(c)...)
	}
	observed := 0
	shards := map[string]*taskShard{}
	for _, o := range r.Log.observations {
		if o.ret == Open {
			continue
		}
		observed++
		s := shards[o.shard]
		if s == nil {
			s = newTaskShard(r.Log, o.shard)
			shards[o.shard] = s
		}
		found = append(found, s.judge(o)...)
	}
	if judged > 0 && observed == 0 {
		undecided = append(undecided, Violation{
			Oracle: Vacuous, AtNS: r.Log.lastNS, Event: r.Log.last,
			Message: fmt.Sprintf("%s had no observation of contents to hold the answers against", r.Name()),
		})
	}
	if judged > 0 {
		judged += observed
	}
	return judge(r.Name(), judged, found, undecided)
}

func (r Responders) judgeAnswers(c *taskCommand) []Violation {
	var found []Violation
	object := func(at uint64, atNS int64, format string, args ...any) {
		found = append(found, Violation{
			Oracle: OracleResponders, AtNS: atNS, Event: at,
			Message: fmt.Sprintf("shard %s: task %s: %v %s", c.task.shard, c.task.name, c, fmt.Sprintf(format, args...)),
		})
	}
	if len(c.answers) == 0 && !c.task.readOnly && !c.task.crashed {
		object(r.Log.last, r.Log.lastNS, "was never answered, and the task writes and did not crash")
	}
	for i, a := range c.answers {
		if i == 1 {
			before := c.answers[0]
			object(a.at, a.atNS, "was answered %d times: %s at %v, and %s at %v",
				len(c.answers), before.answer, time.Duration(before.atNS), a.answer, time.Duration(a.atNS))
		}
		switch {
		case a.answer == AnswerOk && c.task.readOnly:
			object(a.at, a.atNS, "was answered ok by a read-only task")
		case a.answer == AnswerReadOnly && !c.task.readOnly:
			object(a.at, a.atNS, "was answered read only by a task that writes")
		case a.answer == AnswerIdentifierInvalid && a.at < c.task.shutdown:
			object(a.at, a.atNS,
				"was answered that the identifier is invalid, and nobody had asked the task to shut down")
		}
	}
	return found
}

// taskShard is what the log says of one shard.
type taskShard struct {
	name    string
	lives   []*writerLife // that may write, by start
	overlap uint64        // from where on two of them may write at once
	rivals  []*rivalWrite
	initial []Row
	// forbidden maps rows that can only come from commands that were never to be applied to
	// such a command.
	forbidden map[string]*taskCommand
}

// writerLife is a life of a writing task, with what it wants after each of its commands.
type writerLife struct {
	*taskLife
	applied []*taskCommand
	// sums[k] is the hash of the desired contents after the first k applied commands.
	sums []uint64
}

func newTaskShard(l *TaskLog, name string) *taskShard {
	s := &taskShard{name: name, overlap: Open, initial: l.initial[name], forbidden: map[string]*taskCommand{}}
	allowed := map[string]bool{}
	for _, r := range s.initial {
		allowed[r.Data] = true
	}
	for _, r := range l.rivals {
		if r.shard == name {
			s.rivals = append(s.rivals, r)
			for _, row := range r.rows {
				allowed[row.Data] = true
			}
		}
	}
	end := uint64(0)
	for _, t := range l.tasks {
		if t.shard != name {
			continue
		}
		w := &writerLife{taskLife: t}
		for _, c := range t.commands {
			never := t.readOnly
			if a, ok := c.first(); ok && a.answer == AnswerIdentifierInvalid {
				never = true
			}
			if never {
				for _, row := range c.Append {
					s.forbidden[row.Data] = c
				}
				continue
			}
			w.applied = append(w.applied, c)
			for _, row := range c.Append {
				allowed[row.Data] = true
			}
		}
		if t.readOnly {
			continue
		}
		w.sum()
		if len(s.lives) > 0 && t.start < end {
			s.overlap = min(s.overlap, t.start)
		}
		end = max(end, t.end)
		s.lives = append(s.lives, w)
	}
	for data := range allowed {
		delete(s.forbidden, data)
	}
	return s
}

// desiredContents is what a task wants its collection to hold.
type desiredContents struct {
	rows map[string]int64
	sum  uint64 // hash of rows
}

func (d *desiredContents) apply(c *taskCommand) {
	for _, r := range c.Append {
		if d.rows[r.Data] += r.Diff; d.rows[r.Data] == 0 {
			delete(d.rows, r.Data)
		}
		d.sum += rowSum(r.Data, r.Diff)
	}
	if c.Delete != nil {
		maps.DeleteFunc(d.rows, func(data string, n int64) bool {
			if !c.Delete(data) {
				return false
			}
			d.sum -= rowSum(data, n)
			return true
		})
	}
}

// sum fills in the hashes.
func (w *writerLife) sum() {
	desired := desiredContents{rows: map[string]int64{}}
	w.sums = append(w.sums, desired.sum)
	for _, c := range w.applied {
		desired.apply(c)
		w.sums = append(w.sums, desired.sum)
	}
}

// contents is what the task wants after its first n commands.
func (w *writerLife) contents(n int) []Row {
	desired := desiredContents{rows: map[string]int64{}}
	for _, c := range w.applied[:n] {
		desired.apply(c)
	}
	rows := make([]Row, 0, len(desired.rows))
	for data, n := range desired.rows {
		rows = append(rows, Row{data, n})
	}
	return Consolidate(rows)
}

// confirmed is how many of the applied commands the contents must include, as of a moment, and
// the command that says so.
func (w *writerLife) confirmed(before uint64) (int, *taskCommand) {
	for k := len(w.applied); k > 0; k-- {
		if a, ok := w.applied[k-1].first(); ok && a.answer == AnswerOk && a.at < before {
			return k, w.applied[k-1]
		}
	}
	return 0, nil
}

// sentBy is how many of the applied commands had been sent by a moment.
func (w *writerLife) sentBy(at uint64) int {
	n, _ := slices.BinarySearchFunc(w.applied, at, func(c *taskCommand, at uint64) int {
		if c.sent <= at {
			return -1
		}
		return cmp.Compare(c.sent, at)
	})
	return n
}

func (s *taskShard) judge(o *observation) []Violation {
	object := func(format string, args ...any) []Violation {
		return []Violation{{
			Oracle: OracleResponders, AtNS: o.retNS, Event: o.ret,
			Message: fmt.Sprintf("shard %s: its contents, read from %v to %v, %s",
				s.name, time.Duration(o.callNS), time.Duration(o.retNS), fmt.Sprintf(format, args...)),
		}}
	}
	for _, r := range o.rows {
		if c := s.forbidden[r.Data]; c != nil {
			why := "which was answered that the identifier is invalid"
			if c.task.readOnly {
				why = "which was sent to a read-only task"
			}
			return object("show row %s of %v of task %s, %s", quoteRow(r.Data), c, c.task.name, why)
		}
	}
	possible := s.possible(o)
	if possible == nil {
		return nil
	}
	var closest *rowDifference
	var closestTo string
	for _, p := range possible {
		if p.life == nil && o.sum == rowsSum(s.initial) {
			return nil
		}
		if p.life != nil && slices.Contains(p.life.sums[p.from:p.to+1], o.sum) {
			return nil
		}
	}
	for _, p := range possible {
		// The two ends of what is possible are what an engineer would look at, the later one
		// first.
		for _, k := range []int{p.from, p.to} {
			gap := compareRows(p.contents(s, k), o.rows)
			if closest == nil || gap.size() <= closest.size() {
				closest, closestTo = &gap, p.describe(k)
			}
		}
	}
	return object("are none that can have been written: compared with %s, %s", closestTo, closest.describe(nil))
}

// possibility is a range of contents a shard may hold: what one life wants after from to to
// commands, or with no life the initial contents.
type possibility struct {
	life     *writerLife
	from, to int
}

func (p possibility) contents(s *taskShard, k int) []Row {
	if p.life == nil {
		return s.initial
	}
	return p.life.contents(k)
}

func (p possibility) describe(k int) string {
	switch {
	case p.life == nil:
		return "what it held before the first task"
	case k == 0:
		return fmt.Sprintf("what task %s wants before its first command", p.life.name)
	}
	return fmt.Sprintf("what task %s wants after %v", p.life.name, p.life.applied[k-1])
}

// possible lists what the shard may hold at an observation; nil if rivals make that unknowable.
func (s *taskShard) possible(o *observation) []possibility {
	if s.overlap <= o.ret {
		return nil
	}
	first, settled := -1, uint64(0)
	var out []possibility
	for i, w := range s.lives {
		if _, by := w.confirmed(o.call); by != nil {
			first = i
		}
		for _, c := range w.applied {
			if a, ok := c.first(); ok && a.answer == AnswerOk && a.at < o.call {
				settled = max(settled, c.sent)
			}
		}
	}
	for _, r := range s.rivals {
		if r.call <= o.ret && (first < 0 || r.ret >= settled) {
			return nil
		}
	}
	if first < 0 {
		out = append(out, possibility{})
	}
	for i, w := range s.lives {
		if i < first || w.start > o.ret {
			continue
		}
		from, _ := w.confirmed(o.call)
		out = append(out, possibility{w, from, max(from, w.sentBy(o.ret))})
	}
	return out
}
