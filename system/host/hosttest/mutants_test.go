package hosttest_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/simrun-dev/simrun/system/host"
)

// mutant is a host with something broken, and the tests that must notice, as -run has them.
type mutant struct {
	caughtBy string
	mutate   func(host.Host) host.Host
}

var mutants = map[string]mutant{
	"the first case is always chosen": {"^select$", onRuntime(func(rt host.Runtime) host.Runtime { return firstChosen{rt} })},
	"ticks are lost":                  {"^time", onRuntime(func(rt host.Runtime) host.Runtime { return &ticksLost{Runtime: rt} })},
	"timers are not watched":          {"^time", onRuntime(func(rt host.Runtime) host.Runtime { return timersUnwatched{rt} })},
	"contexts are not watched":        {"^context$", onRuntime(func(rt host.Runtime) host.Runtime { return contextsUnwatched{rt} })},
	"sleep is short":                  {"^clock$", onClock(func(c clock.Clock) clock.Clock { return shortSleep{c} })},
	"timers are early":                {"^clock$", onClock(func(c clock.Clock) clock.Clock { return earlyTimers{c} })},
	"the clock stands still":          {"^clock$", onClock(func(c clock.Clock) clock.Clock { return stoppedClock{c} })},
	"deadlines are forgotten":         {"^context$", onClock(func(c clock.Clock) clock.Clock { return noDeadlines{c} })},
	"randomness is none":              {"^process$", func(h host.Host) host.Host { return constantRand{h} }},
	"lives are not told apart":        {"^process$", func(h host.Host) host.Host { return oneLife{h} }},
	"tasks run at once":               {"^(process|chan)$", func(h host.Host) host.Host { return synchronous{h} }},

	"long messages are split":      {"^conn$", onConn(func(_ host.Host, c host.Conn) host.Conn { return splitting{c} })},
	"messages overtake each other": {"^conn$", onConn(func(_ host.Host, c host.Conn) host.Conn { return &swapping{Conn: c} })},
	"messages are shared":          {"^conn$/copied", onConn(func(h host.Host, c host.Conn) host.Conn { return sharing{c, h} })},
	"contexts take a message":      {"^conn$/context", onConn(func(_ host.Host, c host.Conn) host.Conn { return &takesOne{Conn: c} })},
	"Send does not wait":           {"^conn$/slow", onConn(func(h host.Host, c host.Conn) host.Conn { return queueing{c, h} })},
	"death looks like the end":     {"^conn_end$", onConn(func(_ host.Host, c host.Conn) host.Conn { return noReset{c} })},
	"close is not the end":         {"^conn_end$", onConn(func(_ host.Host, c host.Conn) host.Conn { return neverClosed{c} })},
	"nobody refuses":               {"^listener$", onNet(func(n host.Net) host.Net { return noRefusal{n} })},
	"ports are shared":             {"^listener$", onNet(func(n host.Net) host.Net { return sharedPorts{n} })},
	"datagrams are cut":            {"^socket$", onNet(func(n host.Net) host.Net { return cutDatagrams{n} })},

	"directories are not synced":   {"^durability$", onDisk(func(d host.Disk) host.Disk { return noSyncDir{d} })},
	"files are not synced":         {"^durability$", onFile(func(f host.File) host.File { return noSync{f} })},
	"files do not grow":            {"^disk$", onFile(func(f host.File) host.File { return noGrowth{f} })},
	"short reads are no end":       {"^disk$", onFile(func(f host.File) host.File { return noEnd{f} })},
	"closed files are open":        {"^disk$", onFile(func(f host.File) host.File { return neverShut{f} })},
	"rename copies":                {"^disk$", onDisk(func(d host.Disk) host.Disk { return copying{d} })},
	"remove does not mind":         {"^disk$", onDisk(func(d host.Disk) host.Disk { return mindlessRemove{d} })},
	"list is not sorted":           {"^disk$", onDisk(func(d host.Disk) host.Disk { return backwards{d} })},
	"existing files are truncated": {"^disk$", onDisk(func(d host.Disk) host.Disk { return truncating{d} })},
}

// The hosts.

type withRuntime struct {
	host.Host
	rt host.Runtime
}

func (h withRuntime) Runtime() host.Runtime { return h.rt }

func onRuntime(m func(host.Runtime) host.Runtime) func(host.Host) host.Host {
	return func(h host.Host) host.Host { return withRuntime{h, m(h.Runtime())} }
}

type firstChosen struct{ host.Runtime }

func (firstChosen) Choose(int) int { return 0 }

type ticksLost struct {
	host.Runtime
	polled int
}

func (r *ticksLost) PollTime(c <-chan time.Time) (time.Time, bool) {
	t, ok := r.Runtime.PollTime(c)
	if ok {
		r.polled++
	}
	return t, ok && r.polled%5 != 0
}

type timersUnwatched struct{ host.Runtime }

func (timersUnwatched) WatchTime(<-chan time.Time, func()) func() { return func() {} }

type contextsUnwatched struct{ host.Runtime }

func (contextsUnwatched) WatchDone(context.Context, host.Waker) host.Watch { return nil }

type withClock struct {
	host.Host
	c clock.Clock
}

func (h withClock) Clock() clock.Clock { return h.c }

func onClock(m func(clock.Clock) clock.Clock) func(host.Host) host.Host {
	return func(h host.Host) host.Host { return withClock{h, m(h.Clock())} }
}

type shortSleep struct{ clock.Clock }

func (c shortSleep) Sleep(d time.Duration) { c.Clock.Sleep(d / 2) }

type earlyTimers struct{ clock.Clock }

func (c earlyTimers) AfterFunc(d time.Duration, f func()) *clock.Timer {
	return c.Clock.AfterFunc(d/2, f)
}

type stoppedClock struct{ clock.Clock }

func (stoppedClock) Now() time.Time                { return time.Time{} }
func (stoppedClock) Since(time.Time) time.Duration { return 0 }

type noDeadlines struct{ clock.Clock }

func (c noDeadlines) WithTimeout(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	return c.Clock.WithTimeout(ctx, time.Hour)
}

type constantRand struct{ host.Host }

func (constantRand) Rand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

type oneLife struct{ host.Host }

func (oneLife) Incarnation() uint64 { return 1 }

type synchronous struct{ host.Host }

func (h synchronous) Go(name string, fn func()) {
	if name == "test" || name == "task" {
		h.Host.Go(name, fn)
	} else {
		fn()
	}
}

// The network.

type withNet struct {
	host.Host
	n host.Net
}

func (h withNet) Net() host.Net { return h.n }

func onNet(m func(host.Net) host.Net) func(host.Host) host.Host {
	return func(h host.Host) host.Host { return withNet{h, m(h.Net())} }
}

// mutatedConns is a network whose connections are mutated, at both ends.
type mutatedConns struct {
	host.Net
	h host.Host
	m func(host.Host, host.Conn) host.Conn
}

func onConn(m func(host.Host, host.Conn) host.Conn) func(host.Host) host.Host {
	return func(h host.Host) host.Host { return withNet{h, mutatedConns{h.Net(), h, m}} }
}

func (n mutatedConns) Dial(ctx context.Context, addr string) (host.Conn, error) {
	c, err := n.Net.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return n.m(n.h, c), nil
}

func (n mutatedConns) Listen(port string) (host.Listener, error) {
	l, err := n.Net.Listen(port)
	if err != nil {
		return nil, err
	}
	return mutatedListener{l, n}, nil
}

type mutatedListener struct {
	host.Listener
	n mutatedConns
}

func (l mutatedListener) Accept(ctx context.Context) (host.Conn, error) {
	c, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return l.n.m(l.n.h, c), nil
}

type splitting struct{ host.Conn }

func (c splitting) Send(ctx context.Context, msg []byte) error {
	if len(msg) > 5000 {
		if err := c.Conn.Send(ctx, msg[:5000]); err != nil {
			return err
		}
		msg = msg[5000:]
	}
	return c.Conn.Send(ctx, msg)
}

type swapping struct {
	host.Conn
	sent int
	held []byte
}

func (c *swapping) Send(ctx context.Context, msg []byte) error {
	if c.sent++; c.sent%3 == 1 {
		c.held = append([]byte{}, msg...)
		return nil
	}
	if err := c.Conn.Send(ctx, msg); err != nil || c.held == nil {
		return err
	}
	held := c.held
	c.held = nil
	return c.Conn.Send(ctx, held)
}

type sharing struct {
	host.Conn
	h host.Host
}

func (c sharing) Send(ctx context.Context, msg []byte) error {
	c.h.Go("send later", func() { _ = c.Conn.Send(ctx, msg) })
	return nil
}

type takesOne struct{ host.Conn }

func (c *takesOne) Recv(ctx context.Context) ([]byte, error) {
	msg, err := c.Conn.Recv(ctx)
	if err != nil && errors.Is(err, context.DeadlineExceeded) {
		_, _ = c.Conn.Recv(context.Background())
	}
	return msg, err
}

type queueing struct {
	host.Conn
	h host.Host
}

func (c queueing) Send(_ context.Context, msg []byte) error {
	msg = append([]byte{}, msg...)
	c.h.Go("send later", func() { _ = c.Conn.Send(context.Background(), msg) })
	return nil
}

type noReset struct{ host.Conn }

func (c noReset) Recv(ctx context.Context) ([]byte, error) {
	msg, err := c.Conn.Recv(ctx)
	if errors.Is(err, host.ErrReset) {
		err = io.EOF
	}
	return msg, err
}

type neverClosed struct{ host.Conn }

func (neverClosed) Close() error { return nil }

type noRefusal struct{ host.Net }

func (n noRefusal) Dial(ctx context.Context, addr string) (host.Conn, error) {
	c, err := n.Net.Dial(ctx, addr)
	if errors.Is(err, host.ErrRefused) {
		err = host.ErrTimeout
	}
	return c, err
}

type sharedPorts struct{ host.Net }

func (n sharedPorts) Listen(port string) (host.Listener, error) {
	l, err := n.Net.Listen(port)
	if errors.Is(err, host.ErrInUse) {
		return n.Net.Listen(port + "'")
	}
	return l, err
}

type cutDatagrams struct{ host.Net }

func (n cutDatagrams) OpenSocket(port string) (host.Socket, error) {
	s, err := n.Net.OpenSocket(port)
	if err != nil {
		return nil, err
	}
	return cutSocket{s}, nil
}

type cutSocket struct{ host.Socket }

func (s cutSocket) SendTo(addr string, msg []byte) error {
	return s.Socket.SendTo(addr, msg[:min(len(msg), 1400)])
}

// The disk.

type withDisk struct {
	host.Host
	d host.Disk
}

func (h withDisk) Disk() host.Disk { return h.d }

func onDisk(m func(host.Disk) host.Disk) func(host.Host) host.Host {
	return func(h host.Host) host.Host { return withDisk{h, m(h.Disk())} }
}

type mutatedFiles struct {
	host.Disk
	m func(host.File) host.File
}

func onFile(m func(host.File) host.File) func(host.Host) host.Host {
	return onDisk(func(d host.Disk) host.Disk { return mutatedFiles{d, m} })
}

func (d mutatedFiles) Open(name string, flag host.OpenFlag) (host.File, error) {
	f, err := d.Disk.Open(name, flag)
	if err != nil {
		return nil, err
	}
	return d.m(f), nil
}

type noSyncDir struct{ host.Disk }

func (noSyncDir) SyncDir(string) error { return nil }

type noSync struct{ host.File }

func (noSync) Sync() error { return nil }

type noGrowth struct{ host.File }

func (f noGrowth) Truncate(size int64) error {
	if now, err := f.Size(); err == nil && size > now {
		return nil
	}
	return f.File.Truncate(size)
}

type noEnd struct{ host.File }

func (f noEnd) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

type neverShut struct{ host.File }

func (neverShut) Close() error { return nil }

type copying struct{ host.Disk }

func (d copying) Rename(oldName, newName string) error {
	content, err := host.ReadFile(d.Disk, oldName)
	if err != nil {
		return d.Disk.Rename(oldName, newName)
	}
	if err := d.Disk.Rename(oldName, newName); err != nil {
		return err
	}
	f, err := d.Open(oldName, host.Create)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, 0)
	return err
}

type mindlessRemove struct{ host.Disk }

func (d mindlessRemove) Remove(name string) error {
	_ = d.Disk.Remove(name)
	return nil
}

type backwards struct{ host.Disk }

func (d backwards) List(dir string) ([]string, error) {
	names, err := d.Disk.List(dir)
	for i, j := 0, len(names)-1; i < j; i, j = i+1, j-1 {
		names[i], names[j] = names[j], names[i]
	}
	return names, err
}

type truncating struct{ host.Disk }

func (d truncating) Open(name string, flag host.OpenFlag) (host.File, error) {
	if flag == host.Create {
		flag = host.CreateTruncate
	}
	return d.Disk.Open(name, flag)
}
