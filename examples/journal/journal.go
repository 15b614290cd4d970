package journal

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"github.com/simrun-dev/simrun/system/host"
)

// Journal is a file of records of type T. It is one task's at a time.
type Journal[T any] struct {
	file host.File
	size int64
	err  error
}

const headLength = 8 // length and checksum

// Open opens the journal of that name, which need not be there, and passes its records to replay in
// their order. Errors are the disk's, or say that a record is none of type T.
func Open[T any](d host.Disk, name string, replay func(T)) (*Journal[T], error) {
	file, err := d.Open(name, host.Create)
	if err != nil {
		return nil, err
	}
	j := &Journal[T]{file: file}
	if err := j.recover(d, name, replay); err != nil {
		_ = file.Close() // err says more
		return nil, err
	}
	return j, nil
}

func (j *Journal[T]) recover(d host.Disk, name string, replay func(T)) error {
	data, err := host.ReadFile(d, name)
	if err != nil {
		return err
	}
	for {
		body, whole := frame(data[j.size:])
		if !whole {
			break
		}
		var record T
		if err := json.Unmarshal(body, &record); err != nil {
			return fmt.Errorf("journal: %s: a record at byte %d: %w", name, j.size, err)
		}
		replay(record)
		j.size += int64(headLength + len(body))
	}
	// What was read may not be durable: the process died before it was synced, or a sync failed. It
	// must be written again, since a sync does nothing about what an earlier one failed to write.
	if _, err := j.file.WriteAt(data[:j.size], 0); err != nil {
		return err
	}
	if err := j.file.Truncate(j.size); err != nil {
		return err
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	return d.SyncDir("")
}

// frame is the body of the first record in data, if it is whole.
func frame(data []byte) ([]byte, bool) {
	if len(data) < headLength {
		return nil, false
	}
	end := headLength + int64(binary.BigEndian.Uint32(data))
	if end == headLength || end > int64(len(data)) {
		return nil, false
	}
	body := data[headLength:end]
	return body, crc32.ChecksumIEEE(body) == binary.BigEndian.Uint32(data[4:])
}

// Append makes a record durable. After an error it is not known what is on the disk: the journal
// takes no more, and has to be opened again.
func (j *Journal[T]) Append(record T) error {
	if j.err != nil {
		return j.err
	}
	body, err := json.Marshal(record)
	if err != nil {
		return err
	}
	data := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	data = append(binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(body)), body...)
	if _, err = j.file.WriteAt(data, j.size); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		j.err = fmt.Errorf("journal: append: %w", err)
		return j.err
	}
	j.size += int64(len(data))
	return nil
}

// Err is what ended the journal, nil while it takes records.
func (j *Journal[T]) Err() error { return j.err }

// Close closes the file.
func (j *Journal[T]) Close() error { return j.file.Close() }
