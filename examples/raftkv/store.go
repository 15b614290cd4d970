package raftkv

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/simrun-dev/simrun/system/host"
)

// store is what a server must not forget: term, vote and log, as a file of records that only grows.
// A record is its length, its checksum, and JSON; a later one counts. What a crash left of the
// last records was never acted on, and is cut off.
type store struct {
	file host.File
	size int64
	term uint64
	vote string
	log  []Entry // of index 1 and up
}

type record struct {
	Term    uint64  `json:"term"`
	Vote    string  `json:"vote"`
	From    uint64  `json:"from,omitempty"` // index from which on the log has been replaced
	Entries []Entry `json:"entries,omitempty"`
}

const headLength = 8

func openStore(d host.Disk) (*store, error) {
	file, err := d.Open("log", host.Create)
	if err != nil {
		return nil, err
	}
	s := &store{file: file}
	size, err := file.Size()
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	if _, err := file.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, err
	}
	for s.replay(data[s.size:]) {
	}
	// What was read may not be durable: the process died before it was synced, or a sync failed. It
	// must be written again, since a sync does nothing about what an earlier one failed to write.
	if _, err := file.WriteAt(data[:s.size], 0); err != nil {
		return nil, err
	}
	if err := file.Truncate(s.size); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	return s, d.SyncDir("")
}

// replay takes in the first record of data; false if it is not whole.
func (s *store) replay(data []byte) bool {
	if len(data) < headLength {
		return false
	}
	length := int(binary.BigEndian.Uint32(data))
	if length == 0 || len(data) < headLength+length {
		return false
	}
	body := data[headLength : headLength+length]
	var r record
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(data[4:]) || json.Unmarshal(body, &r) != nil {
		return false
	}
	s.apply(r)
	s.size += int64(headLength + length)
	return true
}

func (s *store) apply(r record) {
	s.term, s.vote = r.Term, r.Vote
	if r.From > 0 {
		s.log = append(s.log[:r.From-1], r.Entries...)
	}
}

// setVote makes term and vote durable.
func (s *store) setVote(term uint64, vote string) error {
	return s.write(record{Term: term, Vote: vote})
}

// replace makes the entries durable as those of the log from an index on.
func (s *store) replace(from uint64, entries []Entry) error {
	return s.write(record{Term: s.term, Vote: s.vote, From: from, Entries: entries})
}

// write appends a record. After an error it is not known what is on the disk: the store must be
// opened anew.
func (s *store) write(r record) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	data := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	data = binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(body))
	data = append(data, body...)
	if _, err := s.file.WriteAt(data, s.size); err != nil {
		return fmt.Errorf("raftkv: write the log: %w", err)
	}
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("raftkv: sync the log: %w", err)
	}
	s.size += int64(len(data))
	s.apply(r)
	return nil
}

func (s *store) last() uint64 { return uint64(len(s.log)) }

// termAt is the term of an entry, 0 before the first.
func (s *store) termAt(index uint64) uint64 {
	if index == 0 {
		return 0
	}
	return s.log[index-1].Term
}
