package model_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/cdc/model"
)

func TestTs(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_123)
	ts := model.ComposeTs(at.UnixMilli(), 5)
	require.Equal(t, at.UnixMilli(), model.ExtractPhysical(ts))
	require.Equal(t, ts, model.PhysicalTs(at)+5)
	require.Less(t, ts, model.PhysicalTs(at.Add(time.Millisecond)))
	require.Zero(t, model.PhysicalTs(time.UnixMilli(-1)))
}

func TestTarget(t *testing.T) {
	require.Equal(t, model.Ts(math.MaxUint64), model.ChangeFeedInfo{}.Target())
	require.Equal(t, model.Ts(7), model.ChangeFeedInfo{TargetTs: 7}.Target())
}

func TestCaptureInfoJSON(t *testing.T) {
	p, err := json.Marshal(model.CaptureInfo{ID: "a", AdvertiseAddr: "n:cdc", Version: "1"})
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"a","address":"n:cdc","version":"1"}`, string(p))
}

func Example() {
	ts := model.ComposeTs(1_700_000_000_123, 7)
	fmt.Println(ts, model.ExtractPhysical(ts))
	// Output: 445644800032243719 1700000000123
}

func BenchmarkPhysicalTs(b *testing.B) {
	now := time.UnixMilli(1_700_000_000_123)
	for b.Loop() {
		model.PhysicalTs(now)
	}
}
