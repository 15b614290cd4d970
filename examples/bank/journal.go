package bank

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"github.com/simrun-dev/simrun/system/host"
)

// journal is a file of JSON records, each durable before anybody is told. After a failed write it
// takes no more: what is on the disk is not known until it is opened again.
type journal struct {
	file host.File
	size int64
	// failed has the error that ended the journal.
	failed *host.Chan[error]
	err    error
}

const headLength = 8 // length and checksum

// openJournal passes the records that are there to replay, in their order.
func openJournal(h host.Host, replay func(record []byte) error) (*journal, error) {
	file, err := h.Disk().Open("journal", host.Create)
	if err != nil {
		return nil, err
	}
	j := &journal{file: file, failed: host.NewChan[error](h, "failed", host.Unbounded)}
	data, err := host.ReadFile(h.Disk(), "journal")
	if err != nil {
		return nil, err
	}
	for {
		body, ok := frame(data[j.size:])
		if !ok {
			break
		}
		if err := replay(body); err != nil {
			return nil, fmt.Errorf("bank: a record of the journal: %w", err)
		}
		j.size += int64(headLength + len(body))
	}
	// A sync does nothing about what an earlier one failed to write: write again what was read.
	if _, err := file.WriteAt(data[:j.size], 0); err != nil {
		return nil, err
	}
	if err := file.Truncate(j.size); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	return j, h.Disk().SyncDir("")
}

// frame is the first record in data, if it is whole.
func frame(data []byte) ([]byte, bool) {
	if len(data) < headLength {
		return nil, false
	}
	end := headLength + int(binary.BigEndian.Uint32(data))
	if end == headLength || end > len(data) {
		return nil, false
	}
	body := data[headLength:end]
	return body, crc32.ChecksumIEEE(body) == binary.BigEndian.Uint32(data[4:])
}

// append makes a record durable.
func (j *journal) append(record any) error {
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
		j.err = fmt.Errorf("bank: the journal failed: %w", err)
		j.failed.Send(j.err)
		return j.err
	}
	j.size += int64(len(data))
	return nil
}
