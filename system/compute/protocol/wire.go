package protocol

import (
	"errors"
	"fmt"
	"math"

	"github.com/fxamacker/cbor/v2"
)

// ErrMalformed says that bytes are not a message of this protocol.
var ErrMalformed = errors.New("compute protocol: malformed message")

// The kinds of messages, by their numbers on the wire.
const (
	kindCreateTimely = iota + 1
	kindCreateInstance
	kindInitializationComplete
	kindAllowWrites
	kindUpdateConfiguration
	kindCreateDataflow
	kindSchedule
	kindAllowCompaction
	kindPeek
	kindCancelPeek

	kindFrontiers
	kindPeekResponse
	kindSubscribeResponse
	kindStatus

	kindHello
	kindRefusal
)

var (
	encoding = must(cbor.CoreDetEncOptions().EncMode())
	decoding = must(cbor.DecOptions{
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		IndefLength:      cbor.IndefLengthForbidden,
		MaxArrayElements: math.MaxInt32,
		MaxMapPairs:      math.MaxInt32,
	}.DecMode())
)

func must[M any](mode M, err error) M {
	if err != nil {
		panic("compute protocol: " + err.Error()) // the options are constants
	}
	return mode
}

func mustEncode(v any) []byte {
	p, err := encoding.Marshal(v)
	if err != nil {
		panic("compute protocol: messages always encode: " + err.Error())
	}
	return p
}

func encode(kind byte, body any) []byte { return append([]byte{kind}, mustEncode(body)...) }

// EncodeCommand is the command as it travels.
func EncodeCommand(c Command) []byte {
	switch c := c.(type) {
	case CreateTimely:
		return encode(kindCreateTimely, c)
	case CreateInstance:
		return encode(kindCreateInstance, c)
	case InitializationComplete:
		return encode(kindInitializationComplete, c)
	case AllowWrites:
		return encode(kindAllowWrites, c)
	case UpdateConfiguration:
		return encode(kindUpdateConfiguration, c)
	case CreateDataflow:
		return encode(kindCreateDataflow, c)
	case Schedule:
		return encode(kindSchedule, c)
	case AllowCompaction:
		return encode(kindAllowCompaction, c)
	case Peek:
		return encode(kindPeek, c)
	case CancelPeek:
		return encode(kindCancelPeek, c)
	}
	panic(fmt.Sprintf("compute protocol: unknown command %T", c))
}

// DecodeCommand reads what EncodeCommand made. The error is [ErrMalformed].
func DecodeCommand(p []byte) (Command, error) {
	if len(p) == 0 {
		return nil, ErrMalformed
	}
	switch p[0] {
	case kindCreateTimely:
		return decode[CreateTimely](p)
	case kindCreateInstance:
		return decode[CreateInstance](p)
	case kindInitializationComplete:
		return decode[InitializationComplete](p)
	case kindAllowWrites:
		return decode[AllowWrites](p)
	case kindUpdateConfiguration:
		return decode[UpdateConfiguration](p)
	case kindCreateDataflow:
		c, err := decode[CreateDataflow](p)
		if err == nil && c.Dataflow == nil {
			err = ErrMalformed
		}
		return c, err
	case kindSchedule:
		return decode[Schedule](p)
	case kindAllowCompaction:
		return decode[AllowCompaction](p)
	case kindPeek:
		return decode[Peek](p)
	case kindCancelPeek:
		return decode[CancelPeek](p)
	}
	return nil, fmt.Errorf("%w: no command is of kind %d", ErrMalformed, p[0])
}

// EncodeResponse is the response as it travels.
func EncodeResponse(r Response) []byte {
	switch r := r.(type) {
	case Frontiers:
		return encode(kindFrontiers, r)
	case PeekResponse:
		return encode(kindPeekResponse, r)
	case SubscribeResponse:
		return encode(kindSubscribeResponse, r)
	case Status:
		return encode(kindStatus, r)
	}
	panic(fmt.Sprintf("compute protocol: unknown response %T", r))
}

// DecodeResponse reads what EncodeResponse made. The error is [ErrMalformed], or the reason for which
// the replica refuses the connection: a [*VersionMismatch] or [*StaleEpoch].
func DecodeResponse(p []byte) (Response, error) {
	if len(p) == 0 {
		return nil, ErrMalformed
	}
	switch p[0] {
	case kindFrontiers:
		return decode[Frontiers](p)
	case kindPeekResponse:
		return decode[PeekResponse](p)
	case kindSubscribeResponse:
		return decode[SubscribeResponse](p)
	case kindStatus:
		return decode[Status](p)
	case kindRefusal:
		r, err := decode[refusal](p)
		if err == nil {
			err = r.reason()
		}
		return nil, err
	}
	return nil, fmt.Errorf("%w: no response is of kind %d", ErrMalformed, p[0])
}

func decode[M any](p []byte) (M, error) {
	var m M
	if err := decoding.Unmarshal(p[1:], &m); err != nil {
		return m, fmt.Errorf("%w: %T: %w", ErrMalformed, m, err)
	}
	return m, nil
}
