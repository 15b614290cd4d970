package storage

import (
	"context"

	"github.com/simrun-dev/simrun/system/host"
)

// Handle is how the rest of a process uses a [DifferentialWriteTask], or an [AppendOnlyTask]. Its
// methods may be called by any task.
type Handle struct {
	h        host.Host
	id       GlobalID
	mailbox  *mailbox
	shutdown *host.Chan[struct{}]
	allow    *host.Chan[struct{}]
	ended    *host.Chan[struct{}]
	abort    context.CancelFunc

	mu     *host.Mutex
	reason error // once ended is closed
}

// Spawn starts a task and returns its handle. It panics when the configuration names no
// Writer or no OpenReader.
func Spawn(h host.Host, cfg TaskConfig) *Handle {
	if cfg.Writer == nil || cfg.OpenReader == nil {
		panic("storage: a DifferentialWriteTask needs a Writer and an OpenReader")
	}
	cfg = cfg.withDefaults(h)
	handle, life := newHandle(h, cfg.ID)
	t := &DifferentialWriteTask{
		h: h, cfg: cfg, life: life,
		id: cfg.ID, writer: cfg.Writer, openReader: cfg.OpenReader,
		readOnly: cfg.ReadOnly, now: cfg.Now,
		ticker:  h.Clock().Ticker(cfg.UpperTickInterval),
		mailbox: handle.mailbox, shutdown: handle.shutdown, allow: handle.allow,
	}
	handle.start(func() error {
		defer t.ticker.Stop()
		return t.run()
	})
	return handle
}

// newHandle returns the handle of a task that is not started yet, and the context that ends when the
// task is aborted.
func newHandle(h host.Host, id GlobalID) (*Handle, context.Context) {
	name := "collection " + string(id)
	life, abort := host.WithCancel(h, context.Background())
	return &Handle{
		h: h, id: id, abort: abort,
		mailbox:  newMailbox(h, name),
		shutdown: host.NewChan[struct{}](h, name+" shutdown", 0),
		allow:    host.NewChan[struct{}](h, name+" may write", 0),
		ended:    host.NewChan[struct{}](h, name+" ended", 0),
		mu:       host.NewMutex(h, name),
	}, life
}

// start runs the task, which returns why it ended.
func (h *Handle) start(run func() error) {
	h.h.Go("write collection "+string(h.id), func() {
		defer h.abort()
		reason := run()
		h.h.Logf("storage: the write task of %s has ended: %v", h.id, reason)
		h.mu.Lock()
		h.reason = reason
		h.mu.Unlock()
		h.ended.Close()
	})
}

// Send hands a command to the task, without waiting. Commands are carried out in the order in
// which they are sent. When the task has ended, respond is told at once.
func (h *Handle) Send(op WriteOp, respond Responder) { h.mailbox.send(command{op, respond}) }

// Write is Send that waits for the answer. When ctx ends first the command goes on.
func (h *Handle) Write(ctx context.Context, op WriteOp) error {
	answer := host.NewChan[error](h.h, "write answer", 1)
	h.Send(op, RespondTo(answer))
	err, _, ctxErr := answer.RecvContext(ctx)
	if ctxErr != nil {
		return ctxErr
	}
	return err
}

// CloseSend says that no commands will follow. The task ends when it has carried out those
// that were sent.
func (h *Handle) CloseSend() { h.mailbox.close(&IdentifierInvalid{ID: h.id}) }

// Shutdown makes the task end: after the command that it is carrying out, without those that
// wait, which are answered *IdentifierInvalid.
func (h *Handle) Shutdown() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.shutdown.Closed() {
		h.shutdown.Close()
	}
}

// AllowWrites ends a task's read-only mode: it makes the shard what its commands have made of the
// collection, and goes on as a task that writes. To one that does it means nothing.
func (h *Handle) AllowWrites() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.allow.Closed() {
		h.allow.Close()
	}
}

// Abort makes the task end at once. What it was writing may still be written.
func (h *Handle) Abort() { h.abort() }

// Wait waits for the end of the task and returns its reason, which is never nil: ErrShutdown,
// ErrSenderDropped, *ShardClosed, *Aborted, or the error of a damaged store. When ctx ends
// first it returns ctx's error.
func (h *Handle) Wait(ctx context.Context) error {
	if _, _, err := h.ended.RecvContext(ctx); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reason
}
