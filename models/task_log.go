package models

import (
	"fmt"
	"math"
	"time"
)

// Answer is what the responder of a command got.
type Answer string

const (
	// AnswerOk: the command's effect is in the shard.
	AnswerOk Answer = "ok"
	// AnswerInvalidUppers: the task gave up writing for now. The command stays part of what it
	// wants, and may be written later.
	AnswerInvalidUppers Answer = "invalid uppers"
	// AnswerIdentifierInvalid: the task was shutting down, and never applied the command.
	AnswerIdentifierInvalid Answer = "identifier invalid"
	// AnswerReadOnly: the task does not write.
	AnswerReadOnly Answer = "read only"
)

// Command is what a DifferentialWriteTask is told: to add rows to what its collection should
// hold, or to take rows out. One of Append and Delete is set; neither is an append of nothing.
type Command struct {
	// Append adds rows; negative diffs take away. An oracle can say most where rows tell the
	// commands apart.
	Append []Row
	// Delete takes out the rows it returns true for, whatever their counts. It must be pure.
	Delete func(data string) bool
	// Text is what messages call the command.
	Text string
}

// TaskID names one life of a task, CommandID one command, RivalID one rival's write and
// ObservationID one reading of a shard's contents; each as its own TaskLog gave it.
type (
	TaskID        int
	CommandID     int
	RivalID       int
	ObservationID int
)

// TaskLog records what DifferentialWriteTasks were told and answered, and what their shards
// were seen to hold. Positions are those of the total order of events, as in [History].
// Recording never judges: a command that is answered twice has two answers.
type TaskLog struct {
	tasks        []*taskLife
	commands     []*taskCommand
	rivals       []*rivalWrite
	observations []*observation
	initial      map[string][]Row
	last         uint64
	lastNS       int64
}

// taskLife is one task from its start to its end or crash.
type taskLife struct {
	name, shard string
	readOnly    bool
	start, end  uint64 // end is Open while it runs
	shutdown    uint64 // when it was asked to end; Open if never
	crashed     bool
	commands    []*taskCommand // in the order they were sent
}

type taskCommand struct {
	Command
	id      int
	task    *taskLife
	sent    uint64
	sentNS  int64
	answers []taskAnswer
}

type taskAnswer struct {
	answer Answer
	at     uint64
	atNS   int64
}

// first is the first answer, if there is any.
func (c *taskCommand) first() (taskAnswer, bool) {
	if len(c.answers) == 0 {
		return taskAnswer{}, false
	}
	return c.answers[0], true
}

func (c *taskCommand) String() string {
	return fmt.Sprintf("command #%d (%s, sent at %v)", c.id, c.Text, time.Duration(c.sentNS))
}

type rivalWrite struct {
	shard     string
	rows      []Row
	call, ret uint64
}

type observation struct {
	shard         string
	rows          []Row
	sum           uint64
	call, ret     uint64
	callNS, retNS int64
}

// NewTaskLog returns an empty log.
func NewTaskLog() *TaskLog { return &TaskLog{initial: map[string][]Row{}} }

// Holding says what a shard holds before the first task starts; nothing if it is not called.
func (l *TaskLog) Holding(shard string, rows []Row) { l.initial[shard] = Consolidate(rows) }

// Start records that a task begins a life. Its desired contents are empty. Two lives that
// overlap and may both write to a shard are each other's rivals.
func (l *TaskLog) Start(name, shard string, readOnly bool, at uint64, atNS int64) TaskID {
	l.advance(at, atNS)
	l.tasks = append(l.tasks, &taskLife{
		name: name, shard: shard, readOnly: readOnly, start: at, end: Open, shutdown: Open,
	})
	return TaskID(len(l.tasks) - 1)
}

// Shutdown records that a task is asked to end, by its signal or by its collection being
// unregistered.
func (l *TaskLog) Shutdown(task TaskID, at uint64, atNS int64) {
	l.advance(at, atNS)
	t := l.tasks[task]
	t.shutdown = min(t.shutdown, at)
}

// Ended records that a task has returned.
func (l *TaskLog) Ended(task TaskID, at uint64, atNS int64) {
	l.advance(at, atNS)
	l.tasks[task].end = at
}

// Crash records that a task died without a chance to answer, by a crash of its process or by
// being aborted.
func (l *TaskLog) Crash(task TaskID, at uint64, atNS int64) {
	l.advance(at, atNS)
	t := l.tasks[task]
	t.end, t.crashed = at, true
}

// Send records that a command enters a task's queue. Commands must be recorded in the order of
// the queue; one that could not be sent is not recorded.
func (l *TaskLog) Send(task TaskID, command Command, at uint64, atNS int64) CommandID {
	l.advance(at, atNS)
	t := l.tasks[task]
	if command.Text == "" {
		command.Text = fmt.Sprintf("append of %d rows", len(command.Append))
		if command.Delete != nil {
			command.Text = "delete"
		}
	}
	c := &taskCommand{Command: command, id: len(l.commands) + 1, task: t, sent: at, sentNS: atNS}
	l.commands = append(l.commands, c)
	t.commands = append(t.commands, c)
	return CommandID(c.id)
}

// Answer records that a command's responder got an answer, each time it gets one.
func (l *TaskLog) Answer(command CommandID, answer Answer, at uint64, atNS int64) {
	l.advance(at, atNS)
	c := l.commands[command-1]
	c.answers = append(c.answers, taskAnswer{answer, at, atNS})
}

// BeginRival records that somebody else starts to write rows to a shard, or to move its upper.
// A write whose outcome stays unknown is never ended.
func (l *TaskLog) BeginRival(shard string, rows []Row, at uint64, atNS int64) RivalID {
	l.advance(at, atNS)
	l.rivals = append(l.rivals, &rivalWrite{shard: shard, rows: rows, call: at, ret: Open})
	return RivalID(len(l.rivals) - 1)
}

// EndRival records that the rival's write is over: it took effect, or surely never will.
func (l *TaskLog) EndRival(rival RivalID, at uint64, atNS int64) {
	l.advance(at, atNS)
	l.rivals[rival].ret = at
}

// BeginObservation records that a shard's newest contents are about to be read: its recent
// upper is fetched after this, and the snapshot taken at the time just below it.
func (l *TaskLog) BeginObservation(shard string, at uint64, atNS int64) ObservationID {
	l.advance(at, atNS)
	l.observations = append(l.observations, &observation{shard: shard, call: at, ret: Open, callNS: atNS})
	return ObservationID(len(l.observations) - 1)
}

// EndObservation records what was read. An observation that failed is never ended, and not
// judged.
func (l *TaskLog) EndObservation(id ObservationID, rows []Row, at uint64, atNS int64) {
	l.advance(at, atNS)
	o := l.observations[id]
	o.rows, o.sum, o.ret, o.retNS = Consolidate(rows), rowsSum(rows), at, atNS
}

func (l *TaskLog) advance(at uint64, atNS int64) {
	if at < l.last || at == math.MaxUint64 {
		panic(fmt.Sprintf("models: position %d recorded after %d; positions must not go back", at, l.last))
	}
	l.last, l.lastNS = at, atNS
}
