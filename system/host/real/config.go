package real

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Config says which machine a Host is, and where it finds the others.
type Config struct {
	// Name is the machine's name, by which others reach it. It has no colon in it.
	Name string
	// Dir is the directory of what the host keeps, made when there is none.
	Dir string
	// Listen is the TCP and UDP address, such as ":7100", at which the host is reached. With port
	// 0 the system chooses one, and Host.Addr tells which. Empty is a host that dials and is
	// never reached.
	Listen string
	// Peers tells where machines are. Nil knows nobody.
	Peers Peers
	// Timeout is how long a peer may give no sign of life, when a connection is opened and as
	// long as it is open, before it counts as gone. The default is 15 s.
	Timeout time.Duration
	// Seed is what Host.Rand draws from, together with the name and the number of the life. Nil
	// is randomness of the operating system.
	Seed *uint64
	// Logger takes the log. Nil is slog.Default.
	Logger *slog.Logger
	// OnViolation is told of each Always and Unreachable that fails, after it was logged. It may
	// panic or end the program. Nil goes on.
	OnViolation func(Violation)
}

// Peers tells where machines are.
type Peers interface {
	// Find returns the address of the machine of that name, such as "10.0.0.7:7100". It fails
	// with host.ErrNoHost when it knows none. It is asked for each connection and datagram, and
	// by several goroutines.
	Find(name string) (addr string, err error)
}

// ErrConfig is inside the errors of New that a better Config would mend.
var ErrConfig = errors.New("real: bad configuration")

const defaultTimeout = 15 * time.Second

func (c Config) withDefaults() (Config, error) {
	if c.Name == "" || strings.Contains(c.Name, ":") {
		return c, fmt.Errorf("%w: Name is %q: it must be a name without a colon", ErrConfig, c.Name)
	}
	if c.Dir == "" {
		return c, fmt.Errorf("%w: Dir is empty: name the directory for what %q keeps", ErrConfig, c.Name)
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if c.Peers == nil {
		c.Peers = NewBook(nil)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}
