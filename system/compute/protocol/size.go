package protocol

import (
	"fmt"

	"github.com/simrun-dev/simrun/system/host"
)

// MaxMessage is the length, in bytes, of the longest message that a [Conn] takes: it bounds what a peer can make this
// end keep in memory.
const MaxMessage = 256 << 20

// record is what a record takes besides its data: more in memory than in a message.
const record = 48

// Size is about how many bytes the batch takes in memory. In a message it takes no more.
func (b *SubscribeBatch) Size() int {
	size := record * (1 + len(b.Updates) + len(b.Errors))
	for _, u := range b.Updates {
		size += len(u.Row)
	}
	for _, u := range b.Errors {
		size += len(u.Err.Where)
	}
	return size
}

// SizeOf is about how many bytes a response takes in memory. In a message it takes no more.
func SizeOf(r Response) int {
	size := 4 * record
	switch r := r.(type) {
	case PeekResponse:
		size += len(r.ID) + len(r.Error) + record*len(r.Rows)
		for _, row := range r.Rows {
			size += len(row.Row)
		}
	case SubscribeResponse:
		size += len(r.Error)
		if r.Batch != nil {
			size += r.Batch.Size()
		}
	}
	return size
}

// Fits tells whether a command can be sent, now and when it is told again with a later AsOf. The error is
// host.ErrTooLong: it can be sent over no connection.
func Fits(cmd Command) error { return fitsInto(cmd, MaxMessage) }

func fitsInto(cmd Command, longest int) error { return fits(len(EncodeCommand(cmd)), longest-record) }

func fits(length, limit int) error {
	if length > limit {
		return fmt.Errorf("compute: a message of %d bytes, of which %d are the most: %w", length, limit, host.ErrTooLong)
	}
	return nil
}
