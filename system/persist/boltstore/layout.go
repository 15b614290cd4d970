package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/simrun-dev/simrun/system/persist"
)

// The file has a bucket with the format, and one with a bucket for each key, in which are the key's
// versions:
//
//	"about"    "format" -> "simrun consensus 1"
//	"versions" "=" key  -> number (8 bytes, big-endian) -> checksum (4 bytes, little-endian) data
//
// The checksum is the CRC-32C of key, number and data, so that a version found in another's place is
// taken for corrupt too. The "=" is there as a bucket's name can't be empty, and a key can.
var (
	aboutBucket    = []byte("about")
	formatKey      = []byte("format")
	format         = []byte("simrun consensus 1")
	versionsBucket = []byte("versions")
)

const (
	keyMark        = "="
	numberLength   = 8
	checksumLength = 4
	// MaxKey is the length of the longest key, in bytes.
	MaxKey = bolt.MaxKeySize - len(keyMark)
	// MaxData is the length of a version's longest data, in bytes.
	MaxData = bolt.MaxValueSize - checksumLength
)

var (
	errDataShort    = errors.New("a version is too short to be one")
	errDataChecksum = errors.New("a version has another checksum than was written")
	errNoVersions   = errors.New("a key has no versions")
	errNotANumber   = errors.New("a version has no number")
	errNoBuckets    = errors.New("a value is where only buckets are")

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

func bucketName(key string) []byte { return []byte(keyMark + key) }

func encodeNumber(n persist.SeqNo) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 0, numberLength), uint64(n))
}

func encodeData(key string, v persist.Versioned) []byte {
	p := make([]byte, checksumLength, checksumLength+len(v.Data))
	binary.LittleEndian.PutUint32(p, checksum(key, encodeNumber(v.SeqNo), v.Data))
	return append(p, v.Data...)
}

// decode is the version of a bucket's entry. Its data is the file's own memory.
func decode(key string, number, data []byte) (persist.Versioned, error) {
	if len(number) != numberLength {
		return persist.Versioned{}, fmt.Errorf("key %q: %w", key, errNotANumber)
	}
	v := persist.Versioned{SeqNo: persist.SeqNo(binary.BigEndian.Uint64(number))}
	if len(data) < checksumLength {
		return persist.Versioned{}, fmt.Errorf("key %q, version %d: %w", key, v.SeqNo, errDataShort)
	}
	v.Data = data[checksumLength:]
	if checksum(key, number, v.Data) != binary.LittleEndian.Uint32(data) {
		return persist.Versioned{}, fmt.Errorf("key %q, version %d: %w", key, v.SeqNo, errDataChecksum)
	}
	return v, nil
}

func checksum(key string, number, data []byte) uint32 {
	sum := crc32.Checksum([]byte(key), castagnoli)
	return crc32.Update(crc32.Update(sum, castagnoli, number), castagnoli, data)
}

// createFormat makes the buckets of an empty file.
func createFormat(tx *bolt.Tx) error {
	about, err := tx.CreateBucket(aboutBucket)
	if err == nil {
		err = about.Put(formatKey, format)
	}
	if err == nil {
		_, err = tx.CreateBucket(versionsBucket)
	}
	return err
}

func checkFormat(tx *bolt.Tx, path string) error {
	about := tx.Bucket(aboutBucket)
	if about == nil || tx.Bucket(versionsBucket) == nil {
		return fmt.Errorf("%w: %s was made by another program", ErrForeign, path)
	}
	if got := about.Get(formatKey); string(got) != string(format) {
		return fmt.Errorf("%w: %s has the format %q, this program knows %q", ErrForeign, path, got, format)
	}
	return nil
}

// checkVersions reads everything.
func checkVersions(tx *bolt.Tx) error {
	versions := tx.Bucket(versionsBucket)
	return versions.ForEach(func(name, value []byte) error {
		if value != nil || len(name) == 0 {
			return errNoBuckets
		}
		key := string(name[len(keyMark):])
		head := 0
		err := versions.Bucket(name).ForEach(func(number, data []byte) error {
			head++
			_, err := decode(key, number, data)
			return err
		})
		if err == nil && head == 0 {
			err = fmt.Errorf("key %q: %w", key, errNoVersions)
		}
		return err
	})
}

// oversized tells why the file can't hold a version.
func oversized(key string, data []byte) error {
	if len(key) > MaxKey {
		return fmt.Errorf("%w: a key of %d bytes, at most %d are possible (%w)", ErrTooLarge, len(key), MaxKey, berrors.ErrKeyTooLarge)
	}
	if len(data) > MaxData {
		return fmt.Errorf("%w: data of %d bytes for %q, at most %d are possible (%w)", ErrTooLarge, len(data), key, MaxData, berrors.ErrValueTooLarge)
	}
	return nil
}
