package cdc_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
)

// lateTxns is a client of the coordination service whose transactions, while keep is set, get there only when
// deliver is called. Whoever makes them is told that their outcome is unknown.
type lateTxns struct {
	coord.Client
	keep bool
	kept []coord.Txn
}

func (l *lateTxns) Txn(ctx context.Context, t coord.Txn) (coord.TxnResult, error) {
	if l.keep {
		l.kept = append(l.kept, t)
		return coord.TxnResult{}, coord.ErrUnknown
	}
	return l.Client.Txn(ctx, t)
}

func (l *lateTxns) deliver(t testing.TB) {
	require.NotEmpty(t, l.kept)
	for _, txn := range l.kept {
		_, err := l.Client.Txn(background, txn)
		require.NoError(t, err)
	}
}

// lateHolds is an upstream store to which holds of history, while keep is set, get only when deliver is called.
type lateHolds struct {
	source.Reader
	keep bool
	kept []heldBack
}

type heldBack struct {
	name string
	ts   model.Ts
	ttl  time.Duration
}

func (l *lateHolds) Safepoint(ctx context.Context, name string, ts model.Ts, ttl time.Duration) (model.Ts, error) {
	if l.keep {
		l.kept = append(l.kept, heldBack{name, ts, ttl})
		return 0, source.ErrUnknown
	}
	return l.Reader.Safepoint(ctx, name, ts, ttl)
}

func (l *lateHolds) deliver(t testing.TB) {
	require.NotEmpty(t, l.kept)
	for _, h := range l.kept {
		_, err := l.Reader.Safepoint(background, h.name, h.ts, h.ttl)
		require.NoError(t, err)
	}
}
