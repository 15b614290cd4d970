package real

import (
	"bufio"
	"net"
	"sync/atomic"
	"time"
)

// wire is a TCP connection, with what is read ahead and when the peer last gave a sign of life.
type wire struct {
	net.Conn
	in    *bufio.Reader
	began time.Time
	alive atomic.Int64 // ns since began
}

const readBuffer = 32 << 10

func newWire(raw net.Conn) *wire {
	w := &wire{Conn: raw, began: time.Now()}
	w.in = bufio.NewReaderSize(w, readBuffer)
	return w
}

// Read implements io.Reader, for in.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.seen()
	}
	return n, err
}

// seen is a sign of life.
func (w *wire) seen() { w.alive.Store(int64(time.Since(w.began))) }

// silent is for how long there was none.
func (w *wire) silent() time.Duration {
	return time.Since(w.began) - time.Duration(w.alive.Load())
}
