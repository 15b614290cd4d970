package wal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// A record lies in the file as a frame:
//
//	frame   = header payload
//	header  = magic (4 bytes) number (8) length of the payload (4) checksum (4), little-endian
//
// Numbers count up from frame to frame. The checksum is the CRC-32C of number, length and payload.
const (
	frameMagic  = 0x316c6177 // "wal1"
	frameHeader = 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func buildFrame(number uint64, payload []byte) []byte {
	frame := make([]byte, frameHeader, frameHeader+len(payload))
	binary.LittleEndian.PutUint32(frame[0:], frameMagic)
	binary.LittleEndian.PutUint64(frame[4:], number)
	binary.LittleEndian.PutUint32(frame[12:], uint32(len(payload)))
	frame = append(frame, payload...)
	binary.LittleEndian.PutUint32(frame[16:], frameChecksum(frame))
	return frame
}

func frameChecksum(frame []byte) uint32 {
	return crc32.Update(crc32.Checksum(frame[4:16], castagnoli), castagnoli, frame[frameHeader:])
}

// parseFrame reads the frame at the beginning of p, if there is a valid one.
func parseFrame(p []byte) (number uint64, payload []byte, ok bool) {
	if len(p) < frameHeader || binary.LittleEndian.Uint32(p) != frameMagic {
		return 0, nil, false
	}
	length := int64(binary.LittleEndian.Uint32(p[12:]))
	if length > int64(len(p)-frameHeader) {
		return 0, nil, false
	}
	frame := p[:frameHeader+length]
	if frameChecksum(frame) != binary.LittleEndian.Uint32(p[16:]) {
		return 0, nil, false
	}
	return binary.LittleEndian.Uint64(p[4:]), frame[frameHeader:], true
}

// findFrame finds the first valid frame in p of a number from least on.
func findFrame(p []byte, least uint64) (at int, number uint64, found bool) {
	magic := binary.LittleEndian.AppendUint32(nil, frameMagic)
	for {
		i := bytes.Index(p[at:], magic)
		if i < 0 {
			return 0, 0, false
		}
		at += i
		if number, _, ok := parseFrame(p[at:]); ok && number >= least {
			return at, number, true
		}
		at++
	}
}
