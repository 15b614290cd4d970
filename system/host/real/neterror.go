package real

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/simrun-dev/simrun/system/host"
)

// netError is an error of the operating system as host.Net has it, with what the system said. It is
// that one only: a connection that timed out must not look like a context that did.
func netError(err error) error {
	var kind error
	var dns *net.DNSError
	var addr *net.AddrError // of an address that is none
	switch {
	case err == nil || isAny(err, host.ErrRefused, host.ErrReset, host.ErrTimeout, host.ErrNoHost, host.ErrClosed, host.ErrTooLong):
		return err
	case isAny(err, syscall.ECONNREFUSED):
		kind = host.ErrRefused
	case isAny(err, syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH, os.ErrDeadlineExceeded, context.DeadlineExceeded):
		kind = host.ErrTimeout
	case isAny(err, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED, io.EOF, io.ErrUnexpectedEOF, errProtocol):
		kind = host.ErrReset
	case errors.Is(err, syscall.EMSGSIZE):
		kind = host.ErrTooLong
	case errors.Is(err, net.ErrClosed):
		kind = host.ErrClosed
	case errors.As(err, &addr), errors.As(err, &dns) && dns.IsNotFound:
		kind = host.ErrNoHost
	case errors.As(err, &dns):
		kind = host.ErrTimeout
	default:
		return err
	}
	return fmt.Errorf("%w (%v)", kind, err)
}
