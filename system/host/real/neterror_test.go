package real

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
)

func TestNetErrors(t *testing.T) {
	op := func(err error) error {
		return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", err)}
	}
	for _, test := range []struct{ from, want error }{
		{op(syscall.ECONNREFUSED), host.ErrRefused},
		{op(syscall.ETIMEDOUT), host.ErrTimeout},
		{op(syscall.EHOSTUNREACH), host.ErrTimeout},
		{os.ErrDeadlineExceeded, host.ErrTimeout},
		{context.DeadlineExceeded, host.ErrTimeout},
		{op(syscall.ECONNRESET), host.ErrReset},
		{op(syscall.EPIPE), host.ErrReset},
		{io.EOF, host.ErrReset},
		{io.ErrUnexpectedEOF, host.ErrReset},
		{op(syscall.EMSGSIZE), host.ErrTooLong},
		{&net.OpError{Op: "accept", Err: net.ErrClosed}, host.ErrClosed},
		{&net.DNSError{IsNotFound: true}, host.ErrNoHost},
		{&net.DNSError{IsTimeout: true}, host.ErrTimeout},
		{&net.OpError{Op: "dial", Err: &net.AddrError{Err: "missing port in address", Addr: "x"}}, host.ErrNoHost},
		{fmt.Errorf("%w: no such name", host.ErrNoHost), host.ErrNoHost},
	} {
		err := netError(test.from)
		require.ErrorIs(t, err, test.want, "%v", test.from)
		require.Contains(t, err.Error(), test.from.Error(), "it says what the system said")
		require.NotErrorIs(t, err, context.DeadlineExceeded, "no context has ended")
		require.NotErrorIs(t, err, io.EOF, "the peer has not closed")
	}
	other := errors.New("other")
	require.Equal(t, other, netError(other))
	require.NoError(t, netError(nil))
}

func TestResolve(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:7100", "[::1]:7100", "localhost:7100"} {
		at, err := resolve(addr)
		require.NoError(t, err)
		require.EqualValues(t, 7100, at.Port())
		require.True(t, at.Addr().IsLoopback())
	}
	_, err := resolve("nonsense")
	require.Error(t, err)
}
