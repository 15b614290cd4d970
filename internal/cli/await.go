package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/simrun-dev/simrun/scenarios"
)

// await does something that does not know of the context, and leaves it behind when that is done.
// The error is then the exit status of an interruption.
func await[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	var none T
	if ctx.Err() != nil {
		return none, status(interruptStatus(context.Cause(ctx)))
	}
	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: errors.New("runtime.Goexit was called, as testing's FailNow does")}
		defer func() { done <- o }()
		value, err := do()
		o = outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		return none, status(interruptStatus(context.Cause(ctx)))
	}
}

// awaitedReader reads from something that may block for ever, such as a pipe nobody writes to.
type awaitedReader struct {
	ctx context.Context
	r   io.Reader
}

func (r awaitedReader) Read(p []byte) (int, error) {
	data, err := await(r.ctx, func() ([]byte, error) {
		own := make([]byte, len(p)) // it may be written to when nobody waits any more
		n, err := r.r.Read(own)
		return own[:n], err
	})
	return copy(p, data), err
}

// checking does something that calls functions of a scenario's author: Build, which the scenario
// guards, and the checks of its settings, whose panics become an error here.
func checking[T any](ctx context.Context, s *scenarios.Scenario, do func() (T, error)) (T, error) {
	return await(ctx, func() (value T, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("scenario %s: its checks panicked: %v", s.Name, p)
			}
		}()
		return do()
	})
}
