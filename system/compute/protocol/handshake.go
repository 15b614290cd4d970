package protocol

import (
	"context"
	"fmt"

	"github.com/simrun-dev/simrun/system/host"
)

// BuildInfo tells builds of the program apart.
type BuildInfo struct {
	// Version is that of the program: "1.4.0". Controller and replica must have the same.
	Version string
}

// VersionMismatch says that the two ends of a connection are of different versions.
type VersionMismatch struct{ Controller, Replica string }

func (e *VersionMismatch) Error() string {
	return fmt.Sprintf("compute: the controller is of version %q, the replica of version %q; deploy the same version on both", e.Controller, e.Replica)
}

// StaleEpoch says that a replica has seen a later controller, or a later connection of the same one.
type StaleEpoch struct{ Epoch, Seen Epoch }

func (e *StaleEpoch) Error() string {
	return fmt.Sprintf("compute: the replica refuses epoch %v, it has seen %v; another controller has taken over", e.Epoch, e.Seen)
}

// hello is the first message in both directions.
type hello struct {
	_       struct{} `cbor:",toarray"`
	Version string
}

// refusal is the last message of a replica on a connection that it does not accept.
type refusal struct {
	Version *VersionMismatch `cbor:"1,keyasint,omitempty"`
	Epoch   *StaleEpoch      `cbor:"2,keyasint,omitempty"`
}

func (r refusal) reason() error {
	switch {
	case r.Version != nil:
		return r.Version
	case r.Epoch != nil:
		return r.Epoch
	}
	return fmt.Errorf("%w: a refusal without a reason", ErrMalformed)
}

// Dial connects to the replica at addr. It fails with a [*VersionMismatch], or as the network does. Ctx
// bounds the attempt.
func Dial(ctx context.Context, h host.Host, addr string, build BuildInfo, cfg ConnConfig) (*Conn, error) {
	c, err := h.Net().Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	conn := newConn(h, c, cfg)
	if err := conn.greet(ctx, build); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func (c *Conn) greet(ctx context.Context, build BuildInfo) error {
	if err := c.send(ctx, encode(kindHello, hello{Version: build.Version})); err != nil {
		return err
	}
	p, err := c.recv(ctx)
	if err != nil {
		return err
	}
	if len(p) > 0 && p[0] == kindHello {
		_, err := decode[hello](p)
		return err
	}
	if _, err = DecodeResponse(p); err == nil {
		err = fmt.Errorf("%w: a response before the greeting", ErrMalformed)
	}
	return err
}

// Accept greets the controller at the other end of a connection that was accepted, and fails with a
// [*VersionMismatch] after telling it why.
func Accept(ctx context.Context, h host.Host, c host.Conn, build BuildInfo, cfg ConnConfig) (*Conn, error) {
	conn := newConn(h, c, cfg)
	err := conn.welcome(ctx, build)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func (c *Conn) welcome(ctx context.Context, build BuildInfo) error {
	p, err := c.recv(ctx)
	if err != nil {
		return err
	}
	if len(p) == 0 || p[0] != kindHello {
		return fmt.Errorf("%w: no greeting", ErrMalformed)
	}
	theirs, err := decode[hello](p)
	if err != nil {
		return err
	}
	if theirs.Version != build.Version {
		mismatch := &VersionMismatch{Controller: theirs.Version, Replica: build.Version}
		_ = c.send(ctx, encode(kindRefusal, refusal{Version: mismatch}))
		return mismatch
	}
	return c.send(ctx, encode(kindHello, hello{Version: build.Version}))
}

// Refuse tells the controller that its epoch is stale.
func (c *Conn) Refuse(ctx context.Context, reason *StaleEpoch) {
	_ = c.send(ctx, encode(kindRefusal, refusal{Epoch: reason}))
}
