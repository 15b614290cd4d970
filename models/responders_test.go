package models

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// taskScript drives a TaskLog with positions 1, 2, 3, ...
type taskScript struct {
	*TaskLog
	at uint64
}

func newTaskScript() *taskScript { return &taskScript{TaskLog: NewTaskLog()} }

func (s *taskScript) tick() (uint64, int64) {
	s.at++
	return s.at, int64(s.at) * 1e9
}

func (s *taskScript) start(name string) TaskID {
	at, ns := s.tick()
	return s.Start(name, "s", false, at, ns)
}

func (s *taskScript) startReadOnly(name string) TaskID {
	at, ns := s.tick()
	return s.Start(name, "s", true, at, ns)
}

func (s *taskScript) shutdown(task TaskID) {
	at, ns := s.tick()
	s.Shutdown(task, at, ns)
}

func (s *taskScript) ended(task TaskID) {
	at, ns := s.tick()
	s.Ended(task, at, ns)
}

func (s *taskScript) crash(task TaskID) {
	at, ns := s.tick()
	s.Crash(task, at, ns)
}

func (s *taskScript) send(task TaskID, rows ...Row) CommandID {
	at, ns := s.tick()
	return s.Send(task, Command{Append: rows}, at, ns)
}

func (s *taskScript) sendDelete(task TaskID, prefix string) CommandID {
	at, ns := s.tick()
	return s.Send(task, Command{Delete: func(data string) bool { return strings.HasPrefix(data, prefix) }}, at, ns)
}

func (s *taskScript) answer(c CommandID, a Answer) {
	at, ns := s.tick()
	s.Answer(c, a, at, ns)
}

func (s *taskScript) observe(rows ...Row) {
	at, ns := s.tick()
	o := s.BeginObservation("s", at, ns)
	at, ns = s.tick()
	s.EndObservation(o, rows, at, ns)
}

func (s *taskScript) rival(rows ...Row) {
	at, ns := s.tick()
	r := s.BeginRival("s", rows, at, ns)
	at, ns = s.tick()
	s.EndRival(r, at, ns)
}

func TestResponders(t *testing.T) {
	a, b, c := Row{"a", 1}, Row{"b", 1}, Row{"c", 1}
	for _, test := range []struct {
		name string
		run  func(s *taskScript)
		want string // part of the message, "" for a pass
	}{
		{"a command shows once answered", func(s *taskScript) {
			x := s.start("x")
			s.answer(s.send(x, a), AnswerOk)
			s.observe(a)
			s.answer(s.send(x, b, b), AnswerOk)
			s.observe(a, Row{"b", 2})
			s.answer(s.sendDelete(x, "b"), AnswerOk)
			s.observe(a)
		}, ""},
		{"a command may show before it is answered, not after a later one", func(s *taskScript) {
			x := s.start("x")
			first, second := s.send(x, a), s.send(x, b)
			s.observe()
			s.observe(a)
			s.observe(a, b)
			s.answer(first, AnswerOk)
			s.answer(second, AnswerOk)
		}, ""},
		{"out of order", func(s *taskScript) {
			x := s.start("x")
			first, second := s.send(x, a), s.send(x, b)
			s.observe(b)
			s.answer(first, AnswerOk)
			s.answer(second, AnswerOk)
		}, `are none that can have been written: compared with what task x wants after command #2 (append of 1 rows, sent at 3s), 1 missing: "a"`},
		{"answered before it was written", func(s *taskScript) {
			x := s.start("x")
			s.answer(s.send(x, a), AnswerOk)
			s.observe()
		}, `compared with what task x wants after command #1 (append of 1 rows, sent at 2s), 1 missing: "a"`},
		{"written twice", func(s *taskScript) {
			x := s.start("x")
			s.answer(s.send(x, a), AnswerOk)
			s.observe(Row{"a", 2})
		}, `1 too many: "a"`},
		{"a row that a delete should have taken out", func(s *taskScript) {
			x := s.start("x")
			s.answer(s.send(x, a, b), AnswerOk)
			s.answer(s.sendDelete(x, "b"), AnswerOk)
			s.observe(a, b)
		}, `1 too many: "b"`},
		{"answered twice", func(s *taskScript) {
			x := s.start("x")
			first := s.send(x, a)
			s.answer(first, AnswerOk)
			s.observe(a)
			s.answer(first, AnswerInvalidUppers)
		}, `command #1 (append of 1 rows, sent at 2s) was answered 2 times: ok at 3s, and invalid uppers at 6s`},
		{"never answered", func(s *taskScript) {
			x := s.start("x")
			s.answer(s.send(x, a), AnswerOk)
			s.send(x, b)
			s.observe(a, b)
		}, `command #2 (append of 1 rows, sent at 4s) was never answered`},
		{"a crash answers nothing, and what was sent may be written in order", func(s *taskScript) {
			x := s.start("x")
			s.answer(s.send(x, a), AnswerOk)
			s.send(x, b)
			s.send(x, c)
			s.crash(x)
			y := s.start("y")
			s.observe(a, b)
			s.answer(s.send(y, c), AnswerOk)
			s.observe(c)
		}, ""},
		{"the next life, once it has written, leaves nothing of the last", func(s *taskScript) {
			x := s.start("x")
			s.answer(s.send(x, a), AnswerOk)
			s.crash(x)
			y := s.start("y")
			s.answer(s.send(y, b), AnswerOk)
			s.observe(a, b)
		}, `compared with what task y wants after command #2 (append of 1 rows, sent at 6s), 1 too many: "a"`},
		{"a new life cleans up before it is told anything", func(s *taskScript) {
			s.Holding("s", []Row{a})
			x := s.start("x")
			s.observe(a)
			s.observe()
			s.answer(s.send(x, b), AnswerOk)
		}, ""},
		{"old contents after a write", func(s *taskScript) {
			s.Holding("s", []Row{a})
			x := s.start("x")
			s.answer(s.send(x, b), AnswerOk)
			s.observe(a, b)
		}, `1 too many: "a"`},
		{"invalid uppers: written later, with what comes after", func(s *taskScript) {
			x := s.start("x")
			s.answer(s.send(x, a), AnswerInvalidUppers)
			s.observe()
			s.answer(s.send(x, b), AnswerOk)
			s.observe(a, b)
		}, ""},
		{"invalid uppers: not forgotten", func(s *taskScript) {
			x := s.start("x")
			s.answer(s.send(x, a), AnswerInvalidUppers)
			s.answer(s.send(x, b), AnswerOk)
			s.observe(b)
		}, `1 missing: "a"`},
		{"shut down", func(s *taskScript) {
			x := s.start("x")
			s.answer(s.send(x, a), AnswerOk)
			late := s.send(x, b)
			s.shutdown(x)
			s.answer(late, AnswerIdentifierInvalid)
			s.ended(x)
			s.observe(a)
		}, ""},
		{"shut down, and applied all the same", func(s *taskScript) {
			x := s.start("x")
			s.answer(s.send(x, a), AnswerOk)
			late := s.send(x, b)
			s.shutdown(x)
			s.answer(late, AnswerIdentifierInvalid)
			s.observe(a, b)
		}, `show row "b" of command #2 (append of 1 rows, sent at 4s) of task x, which was answered that the identifier is invalid`},
		{"invalid identifier without a reason", func(s *taskScript) {
			x := s.start("x")
			s.answer(s.send(x, a), AnswerIdentifierInvalid)
			s.observe()
		}, `nobody had asked the task to shut down`},
		{"read only", func(s *taskScript) {
			x := s.startReadOnly("x")
			s.answer(s.send(x, a), AnswerReadOnly)
			s.send(x, b)
			y := s.start("y")
			s.answer(s.send(y, b), AnswerOk)
			s.observe(b)
		}, ""},
		{"read only and writes", func(s *taskScript) {
			x := s.startReadOnly("x")
			s.answer(s.send(x, a), AnswerReadOnly)
			s.observe(a)
		}, `which was sent to a read-only task`},
		{"read only and ok", func(s *taskScript) {
			x := s.startReadOnly("x")
			s.answer(s.send(x, a), AnswerOk)
			s.observe()
		}, `was answered ok by a read-only task`},
		{"writes and read only", func(s *taskScript) {
			x := s.start("x")
			s.answer(s.send(x, a), AnswerReadOnly)
			s.observe()
		}, `was answered read only by a task that writes`},
		{"a rival may leave anything", func(s *taskScript) {
			x := s.start("x")
			s.answer(s.send(x, a), AnswerOk)
			s.rival(c)
			s.observe(a, c)
			s.observe(c)
		}, ""},
		{"until a command that was sent later is answered", func(s *taskScript) {
			x := s.start("x")
			s.rival(c)
			s.answer(s.send(x, a), AnswerOk)
			s.observe(a, c)
		}, `1 too many: "c"`},
		{"a command that was sent before does not settle it", func(s *taskScript) {
			x := s.start("x")
			first := s.send(x, a)
			s.rival(c)
			s.answer(first, AnswerOk)
			s.observe(a, c)
		}, ""},
		{"a rival's write that is open never settles", func(s *taskScript) {
			x := s.start("x")
			at, ns := s.tick()
			s.BeginRival("s", []Row{c}, at, ns)
			s.answer(s.send(x, a), AnswerOk)
			s.observe(a, c)
		}, ""},
		{"a rival does not excuse what was never to be applied", func(s *taskScript) {
			x := s.start("x")
			s.rival(c)
			s.shutdown(x)
			s.answer(s.send(x, a), AnswerIdentifierInvalid)
			s.observe(a, c)
		}, `show row "a"`},
		{"two that write at once are rivals", func(s *taskScript) {
			x, y := s.start("x"), s.start("y")
			s.answer(s.send(x, a), AnswerOk)
			s.answer(s.send(y, b), AnswerOk)
			s.observe(a)
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newTaskScript()
			test.run(s)
			j := Responders{s.TaskLog}.Judge()
			if test.want == "" {
				require.Equal(t, VerdictPass, j.Verdict, "%v", j.Violations)
				require.Positive(t, j.Judged)
				return
			}
			require.Equal(t, VerdictFail, j.Verdict)
			require.Len(t, j.Violations, 1, "%v", j.Violations)
			require.Contains(t, j.Violations[0].Message, test.want)
			require.Equal(t, OracleResponders, j.Violations[0].Oracle)
			require.Positive(t, j.Violations[0].Event)
		})
	}
}

func TestRespondersWithNothingToJudge(t *testing.T) {
	s := newTaskScript()
	s.start("x")
	s.observe()
	require.Equal(t, VerdictUnknown, Responders{s.TaskLog}.Judge().Verdict, "no answers")
	s = newTaskScript()
	x := s.start("x")
	s.answer(s.send(x, Row{"a", 1}), AnswerOk)
	at, ns := s.tick()
	s.BeginObservation("s", at, ns)
	j := Responders{s.TaskLog}.Judge()
	require.Equal(t, VerdictUnknown, j.Verdict)
	require.Equal(t, Vacuous, j.Violations[0].Oracle)
	require.Contains(t, j.Violations[0].Message, "no observation")
}

// modelTask is a DifferentialWriteTask reduced to what can be told from outside.
type modelTask struct {
	id      TaskID
	queue   []CommandID
	desired []Row
}

// taskWorld runs model tasks on one shard, one life after the other, with rivals and crashes.
type taskWorld struct {
	*taskScript
	choose   chooser
	contents []Row
	task     *modelTask
	commands map[CommandID]func(desired []Row) []Row
	lives    int
}

func (w *taskWorld) step() {
	if w.task == nil {
		w.lives++
		w.task = &modelTask{id: w.start(fmt.Sprintf("life-%d", w.lives))}
		return
	}
	switch w.choose(10) {
	case 0, 1, 2:
		w.command()
	case 3, 4, 5:
		w.batch()
	case 6, 7:
		at, ns := w.tick()
		o := w.BeginObservation("s", at, ns)
		if w.choose.chance(2) {
			w.command()
		}
		seen := w.contents
		if w.choose.chance(2) {
			w.batch()
		}
		at, ns = w.tick()
		w.EndObservation(o, seen, at, ns)
	case 8:
		switch w.choose(4) {
		case 0:
			row := Row{fmt.Sprintf("rival-%d", w.at), 1}
			w.contents = Consolidate(append(slices.Clone(w.contents), row))
			w.rival(row)
		case 1: // a tick finds the upper moved, and cleans up
			w.contents = w.task.desired
		}
	case 9:
		w.end()
	}
}

func (w *taskWorld) command() {
	rows := []Row{{fmt.Sprintf("row-%d", w.at), 1}, {fmt.Sprintf("row-%d", w.choose(4)), 1}}
	apply := func(desired []Row) []Row { return Consolidate(append(slices.Clone(desired), rows...)) }
	if w.choose.chance(3) {
		digit := fmt.Sprint(w.choose(10))
		gone := func(data string) bool { return strings.Contains(data, digit) }
		at, ns := w.tick()
		id := w.Send(w.task.id, Command{Delete: gone}, at, ns)
		w.commands[id] = func(desired []Row) []Row {
			return slices.DeleteFunc(slices.Clone(desired), func(r Row) bool { return gone(r.Data) })
		}
		w.task.queue = append(w.task.queue, id)
		return
	}
	id := w.send(w.task.id, rows...)
	w.commands[id] = apply
	w.task.queue = append(w.task.queue, id)
}

// batch applies all that is queued; mostly it is written.
func (w *taskWorld) batch() {
	answer := AnswerOk
	for _, id := range w.task.queue {
		w.task.desired = w.commands[id](w.task.desired)
	}
	if w.choose.chance(6) {
		answer = AnswerInvalidUppers
	} else if len(w.task.queue) > 0 {
		w.contents = w.task.desired
	}
	for _, id := range w.task.queue {
		w.answer(id, answer)
	}
	w.task.queue = nil
}

func (w *taskWorld) end() {
	if w.choose.chance(2) {
		if w.choose.chance(2) { // written, and the answers lost
			for _, id := range w.task.queue {
				w.task.desired = w.commands[id](w.task.desired)
			}
			w.contents = w.task.desired
		}
		w.crash(w.task.id)
	} else {
		w.shutdown(w.task.id)
		for _, id := range w.task.queue {
			w.answer(id, AnswerIdentifierInvalid)
		}
		w.ended(w.task.id)
	}
	w.task = nil
}

func generateTasks(choose chooser, steps int) *taskWorld {
	w := &taskWorld{taskScript: newTaskScript(), choose: choose, commands: map[CommandID]func([]Row) []Row{}}
	w.task = &modelTask{id: w.start("life-0")}
	w.command()
	for range steps {
		w.step()
	}
	if w.task != nil {
		w.command()
		for w.choose.chance(2) {
			w.batch()
		}
		w.shutdown(w.task.id)
		for _, id := range w.task.queue {
			w.answer(id, AnswerIdentifierInvalid)
		}
		w.ended(w.task.id)
	}
	w.observe(w.contents...)
	return w
}

func TestCorrectTasksPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choose := seededChooser(rapid.Uint64().Draw(t, "seed"))
		w := generateTasks(choose, rapid.IntRange(0, 60).Draw(t, "steps"))
		for _, c := range w.TaskLog.commands {
			if len(c.answers) > 0 {
				j := Responders{w.TaskLog}.Judge()
				require.Equal(t, VerdictPass, j.Verdict, "%v", j.Violations)
				return
			}
		}
	})
}

// TestWrongTasksFail breaks one thing of a correct run that a rule must notice.
func TestWrongTasksFail(t *testing.T) {
	broken := map[string]int{}
	for seed := range uint64(400) {
		choose := seededChooser(seed)
		w := generateTasks(choose, 40)
		l := w.TaskLog
		answered := func() *taskCommand {
			all := slices.DeleteFunc(slices.Clone(l.commands), func(c *taskCommand) bool { return len(c.answers) == 0 })
			return all[choose(len(all))]
		}
		switch choose(4) {
		case 0:
			c := answered()
			c.answers = append(c.answers, c.answers[0])
			broken["twice"]++
		case 1:
			c := answered()
			if c.task.crashed {
				continue
			}
			c.answers = nil
			broken["never"]++
		case 2: // a row from nowhere, where the contents are known exactly
			o := l.observations[choose(len(l.observations))]
			if newTaskShard(l, "s").possible(o) == nil {
				continue
			}
			o.rows = append(slices.Clone(o.rows), Row{"from nowhere", 1})
			o.sum = rowsSum(o.rows)
			broken["extra"]++
		case 3: // a row of the answered commands is gone
			o := l.observations[choose(len(l.observations))]
			s := newTaskShard(l, "s")
			possible := s.possible(o)
			if len(possible) != 1 || possible[0].from != possible[0].to || len(o.rows) == 0 {
				continue
			}
			o.rows = o.rows[1:]
			o.sum = rowsSum(o.rows)
			broken["missing"]++
		}
		require.Equal(t, VerdictFail, Responders{l}.Judge().Verdict, "seed %d", seed)
	}
	for _, kind := range []string{"twice", "never", "extra", "missing"} {
		require.Greater(t, broken[kind], 10, "%v", broken)
	}
}

func TestTaskLogRefusesPositionsThatGoBack(t *testing.T) {
	l := NewTaskLog()
	l.Start("x", "s", false, 5, 0)
	require.Panics(t, func() { l.Start("y", "s", false, 4, 0) })
}
