package real

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/host"
)

// Frames come out as they went in, wherever the stream is cut; and of what is cut off in the middle
// nothing comes out.
func TestFramesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type frame struct {
			kind frameKind
			body []byte
		}
		frames := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) frame {
			return frame{frameKind(rapid.Byte().Draw(t, "kind")), rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "body")}
		}), 0, 10).Draw(t, "frames")
		var stream []byte
		ends := []int{0}
		for _, f := range frames {
			stream = append(stream, append(newFrame(f.kind, len(f.body)), f.body...)...)
			ends = append(ends, len(stream))
		}
		cut := rapid.IntRange(0, len(stream)).Draw(t, "cut")
		r := bufio.NewReader(bytes.NewReader(stream[:cut]))
		for i, f := range frames {
			kind, body, err := readFrame(r, 300)
			if ends[i+1] > cut {
				want := io.ErrUnexpectedEOF
				if ends[i] == cut {
					want = io.EOF
				}
				require.Equal(t, want, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, f.kind, kind)
			require.True(t, bytes.Equal(f.body, body))
		}
		_, _, err := readFrame(r, 300)
		require.Equal(t, io.EOF, err)
	})
}

func TestFrameLimit(t *testing.T) {
	frame := append(newFrame(frameData, 301), make([]byte, 301)...)
	_, _, err := readFrame(bufio.NewReader(bytes.NewReader(frame)), 300)
	require.ErrorIs(t, err, errProtocol)
	_, body, err := readFrame(bufio.NewReader(bytes.NewReader(frame)), 301)
	require.NoError(t, err)
	require.Len(t, body, 301)
}

func TestHelloProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := hello{rapid.String().Draw(t, "to"), rapid.String().Draw(t, "port"), rapid.String().Draw(t, "from")}
		f, err := h.frame()
		if errors.Is(err, host.ErrTooLong) {
			return
		}
		require.NoError(t, err)
		_, body, err := readFrame(bufio.NewReader(bytes.NewReader(f)), maxHello)
		require.NoError(t, err)
		got, ok := parseHello(body)
		require.True(t, ok)
		require.Equal(t, h, got)
		garbage := rapid.SliceOf(rapid.Byte()).Draw(t, "garbage")
		_, ok = parseHello(append([]byte(helloMagic), garbage...))
		require.True(t, !ok || len(garbage) >= 6)
		_, ok = parseHello(body[:rapid.IntRange(0, len(body)-1).Draw(t, "cut")])
		require.False(t, ok)
	})
}
