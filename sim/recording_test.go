package sim_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/sim"
)

func readAll(p []byte) (events []sim.Event, err error) {
	for e, err := range sim.ReadTrace(bytes.NewReader(p)) {
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

func TestRecordingRoundTrip(t *testing.T) {
	var file bytes.Buffer
	a := pingPong(t, sim.Config{Seed: 3, Record: true})
	b := pingPong(t, sim.Config{Seed: 3, RecordTo: &file})
	require.Nil(t, b.Trace())
	hash, count := b.Hash(), b.Events()
	b.Close()
	require.NoError(t, b.RecordError())
	events, err := readAll(file.Bytes())
	require.NoError(t, err)
	require.Equal(t, a.Trace(), events)
	last := events[len(events)-1]
	require.Equal(t, hash, last.Hash, "the hash is worked out anew from what was recorded")
	require.Equal(t, count, last.Number)
	require.Less(t, file.Len()/len(events), 24, "bytes an event")
	kinds := map[sim.EventKind]bool{}
	for _, e := range events {
		kinds[e.Kind] = true
		require.NotContains(t, e.String(), "%!")
	}
	require.Greater(t, len(kinds), 8)
}

func TestRecordingThatIsDamaged(t *testing.T) {
	var file bytes.Buffer
	pingPong(t, sim.Config{Seed: 3, RecordTo: &file}).Close()
	whole := file.Bytes()
	original, err := readAll(whole)
	require.NoError(t, err)
	_, err = readAll([]byte("something else"))
	require.ErrorIs(t, err, sim.ErrNotTrace)
	_, err = readAll(nil)
	require.ErrorIs(t, err, sim.ErrNotTrace)
	rapid.Check(t, func(t *rapid.T) {
		p := bytes.Clone(whole)
		if rapid.Bool().Draw(t, "cut") {
			p = p[:rapid.IntRange(30, len(p)-1).Draw(t, "length")]
		} else {
			p[rapid.IntRange(30, len(p)-1).Draw(t, "place")] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		}
		events, err := readAll(p)
		if err != nil {
			require.True(t, errors.Is(err, sim.ErrNotTrace) || errors.Is(err, io.ErrUnexpectedEOF), "%v", err)
			return
		}
		if len(events) == len(original) && events[len(events)-1].Hash == original[len(original)-1].Hash {
			for i, e := range events { // then it was a name or a cause that was damaged
				require.Equal(t, [4]uint64{original[i].Number, uint64(original[i].At), original[i].A, original[i].B}, [4]uint64{e.Number, uint64(e.At), e.A, e.B})
			}
		}
	})
}

type failingWriter struct{ left int }

func (f *failingWriter) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestRecordingToAWriterThatFails(t *testing.T) {
	w := pingPong(t, sim.Config{Seed: 3, RecordTo: &failingWriter{100}})
	whole := pingPong(t, sim.Config{Seed: 3})
	require.Equal(t, whole.Hash(), w.Hash(), "the run goes on, and is the same")
	w.Close()
	require.EqualError(t, w.RecordError(), "disk full")
}

func BenchmarkRecording(b *testing.B) {
	for name, cfg := range map[string]sim.Config{"off": {}, "memory": {Record: true}, "writer": {RecordTo: io.Discard}} {
		b.Run(name, func(b *testing.B) { benchmarkMessage(b, cfg) })
	}
}
