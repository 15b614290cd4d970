package sink

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
)

// Sink opens the sink's side of key spans. Its methods may be called by several tasks.
type Sink interface {
	// Open opens a key span whose rows of commit ts above start are going to be written. Base tells
	// that the contents as of start are wanted first. It fails with ErrGap, or with ctx's error.
	Open(ctx context.Context, id model.KeySpanID, start model.Ts) (span Span, base bool, err error)
	// Close ends the sink. Its spans were closed before.
	Close()
}

// Span is one key span of a [Sink]. It is used by one task.
type Span interface {
	// Write makes rows durable, and with them that there are no others of commit ts up to upTo above
	// that of the last Write, or of the start. They are sorted by [source.Compare], without
	// repetitions. It returns how many of them were new to the sink. After an error nothing is
	// known of them, but that they may be written again; unless it is ErrClosed, the Span is good for
	// another try.
	Write(ctx context.Context, rows []source.Row, upTo model.Ts) (written int, err error)
	// Close ends the writing: after it returns, nothing that this Span was given takes effect any
	// more, as far as that can be known.
	Close()
}

// Errors of sinks.
var (
	// ErrGap: the sink has some of the span, and not all up to where the writing is to start. The
	// changefeed has to be made anew, into a sink of its own.
	ErrGap = errors.New("sink: rows between what is there and the start are missing")
	// ErrClosed: the sink takes no more rows, ever.
	ErrClosed = errors.New("sink: closed")
)

func gap(id model.KeySpanID, have, start model.Ts) error {
	return fmt.Errorf("%w: key span %d is there up to %d, and was to start at %d", ErrGap, id, have, start)
}
