package rpc

import (
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What is written by hand is what any other CBOR encoder makes of it.
func TestEnvelopesAreCBOR(t *testing.T) {
	strings := rapid.OneOf(rapid.String(), rapid.Map(rapid.IntRange(0, 70_000), func(n int) string { return strings.Repeat("x", n) }))
	ids := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 70_000))
	rapid.Check(t, func(t *rapid.T) {
		body, err := encoding.Marshal(strings.Draw(t, "body"))
		require.NoError(t, err)
		req := request{ID: ids.Draw(t, "id"), Method: strings.Draw(t, "method"), Body: body}
		want, err := encoding.Marshal([]any{req.ID, req.Method, cbor.RawMessage(body)})
		require.NoError(t, err)
		require.Equal(t, want, req.appendTo(nil))
		gotRequest, err := decodeRequest(want)
		require.NoError(t, err)
		require.Equal(t, req, gotRequest)

		resp := response{ID: req.ID, Code: strings.Draw(t, "code"), Message: strings.Draw(t, "message"), Body: body}
		want, err = encoding.Marshal([]any{resp.ID, resp.Code, resp.Message, cbor.RawMessage(body)})
		require.NoError(t, err)
		require.Equal(t, want, resp.appendTo(nil))
		gotResponse, err := decodeResponse(want)
		require.NoError(t, err)
		require.Equal(t, resp, gotResponse)
	})
}

// What is cut off, or something else, is neither.
func TestBadEnvelopes(t *testing.T) {
	whole := request{ID: 1 << 40, Method: "test/method", Body: null}.appendTo(nil)
	for size := range len(whole) {
		_, err := decodeRequest(whole[:size])
		require.ErrorIs(t, err, errEnvelope, "cut at %d", size)
	}
	_, err := decodeResponse(whole)
	require.ErrorIs(t, err, errEnvelope)
	whole = response{ID: 300, Code: "test/code", Message: "no", Body: null}.appendTo(nil)
	for size := range len(whole) {
		_, err := decodeResponse(whole[:size])
		require.ErrorIs(t, err, errEnvelope, "cut at %d", size)
	}
	_, err = decodeRequest(whole)
	require.ErrorIs(t, err, errEnvelope)
	rapid.Check(t, func(t *rapid.T) {
		garbage := rapid.SliceOf(rapid.Byte()).Draw(t, "garbage")
		if r, err := decodeRequest(garbage); err == nil {
			again, err := decodeRequest(r.appendTo(nil))
			require.NoError(t, err)
			require.Equal(t, r, again)
		}
	})
}
