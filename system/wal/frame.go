package wal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// Magic is what the frames of a log begin with. A record lies in the file as a frame:
//
//	frame   = header payload
//	header  = magic (4 bytes) number (8) length of the payload (4) checksum (4), little-endian
//
// Numbers count up from frame to frame. The checksum is the CRC-32C of number, length and payload.
//
// Logs of different services have different ones, so that none is replayed by a service that it is
// not of.
type Magic [4]byte

// Overhead is how many bytes a record takes in the file beside its own.
const Overhead = 20

// MaxRecord is how many bytes a record may have: 1 GiB. A frame has room for a length of 32 bits, and a log
// is in memory as a whole when it is opened.
const MaxRecord = 1 << 30

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (m Magic) buildFrame(number uint64, payload []byte) []byte {
	frame := make([]byte, Overhead, Overhead+len(payload))
	copy(frame, m[:])
	binary.LittleEndian.PutUint64(frame[4:], number)
	binary.LittleEndian.PutUint32(frame[12:], uint32(len(payload)))
	frame = append(frame, payload...)
	binary.LittleEndian.PutUint32(frame[16:], frameChecksum(frame))
	return frame
}

func frameChecksum(frame []byte) uint32 {
	return crc32.Update(crc32.Checksum(frame[4:16], castagnoli), castagnoli, frame[Overhead:])
}

// parseFrame reads the frame at the beginning of p, if there is a valid one.
func (m Magic) parseFrame(p []byte) (number uint64, payload []byte, ok bool) {
	if len(p) < Overhead || Magic(p[:4]) != m {
		return 0, nil, false
	}
	length := int64(binary.LittleEndian.Uint32(p[12:]))
	if length > int64(len(p)-Overhead) {
		return 0, nil, false
	}
	frame := p[:Overhead+length]
	if frameChecksum(frame) != binary.LittleEndian.Uint32(p[16:]) {
		return 0, nil, false
	}
	return binary.LittleEndian.Uint64(p[4:]), frame[Overhead:], true
}

// findFrame finds the first valid frame in p of a number from least on.
func (m Magic) findFrame(p []byte, least uint64) (at int, number uint64, found bool) {
	for {
		i := bytes.Index(p[at:], m[:])
		if i < 0 {
			return 0, 0, false
		}
		at += i
		if number, _, ok := m.parseFrame(p[at:]); ok && number >= least {
			return at, number, true
		}
		at++
	}
}
