package boltstore

import (
	"bytes"
	"context"
	"errors"

	bolt "go.etcd.io/bbolt"

	"github.com/simrun-dev/simrun/system/persist"
)

// Head is part of persist.Consensus.
func (s *Store) Head(ctx context.Context, key string) (head persist.Versioned, err error) {
	err = s.read(ctx, "head", key, func(tx *bolt.Tx) error {
		b := versionsOf(tx, key)
		if b == nil {
			return nil
		}
		number, data := b.Cursor().Last()
		head, err = own(key, number, data)
		return err
	})
	return head, err
}

// Scan is part of persist.Consensus.
func (s *Store) Scan(ctx context.Context, key string, from persist.SeqNo, limit int) (versions []persist.Versioned, err error) {
	err = s.read(ctx, "scan", key, func(tx *bolt.Tx) error {
		b := versionsOf(tx, key)
		if b == nil {
			return nil
		}
		c := b.Cursor()
		for number, data := c.Seek(encodeNumber(from)); number != nil && len(versions) < limit; number, data = c.Next() {
			v, err := own(key, number, data)
			if err != nil {
				return err
			}
			versions = append(versions, v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return versions, nil
}

// ListKeys is part of persist.Consensus.
func (s *Store) ListKeys(ctx context.Context) (keys []string, err error) {
	err = s.read(ctx, "list", "", func(tx *bolt.Tx) error {
		return tx.Bucket(versionsBucket).ForEachBucket(func(name []byte) error {
			keys = append(keys, string(name[len(keyMark):]))
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// versionsOf is the bucket of a key's versions, nil when it has none.
func versionsOf(tx *bolt.Tx, key string) *bolt.Bucket {
	if len(key) > MaxKey {
		return nil
	}
	return tx.Bucket(versionsBucket).Bucket(bucketName(key))
}

// own is decode with data of the caller's own: the file's memory is taken for something else when the
// transaction has ended.
func own(key string, number, data []byte) (persist.Versioned, error) {
	v, err := decode(key, number, data)
	if err == nil {
		v.Data = append(make([]byte, 0, len(v.Data)), v.Data...)
	}
	return v, err
}

// read calls fn with a transaction. What fails, fails without effect: it is determinate, or corrupt.
func (s *Store) read(ctx context.Context, op, key string, fn func(tx *bolt.Tx) error) error {
	if ctx.Err() != nil {
		return determinate(op, key, ctx.Err())
	}
	leave, err := s.enter()
	if err != nil {
		return s.refusal(op, key, err)
	}
	defer leave()
	panicked := guard(func() {
		var tx *bolt.Tx
		if tx, err = s.begin(); err != nil {
			err = determinate(op, key, err)
			return
		}
		defer tx.Rollback()
		if err = fn(tx); err != nil {
			err = corrupt(s.path, err)
		}
	})
	if panicked != nil {
		err = corrupt(s.path, panicked)
	}
	return err
}

// begin begins to read what is durable: a commit can be read before bbolt has synced it.
func (s *Store) begin() (*bolt.Tx, error) {
	s.durable.RLock()
	defer s.durable.RUnlock()
	return s.db.Begin(false)
}

// refusal is the error of a call that was not begun.
func (s *Store) refusal(op, key string, why error) error {
	if errors.Is(why, persist.ErrCorrupt) {
		return why // trying again is of no use
	}
	return determinate(op, key, why)
}

// numbersBelow are the numbers of a key's versions below n, encoded.
func numbersBelow(b *bolt.Bucket, n persist.SeqNo) (numbers [][]byte) {
	end := encodeNumber(n)
	c := b.Cursor()
	for number, _ := c.First(); number != nil && bytes.Compare(number, end) < 0; number, _ = c.Next() {
		numbers = append(numbers, bytes.Clone(number))
	}
	return numbers
}
