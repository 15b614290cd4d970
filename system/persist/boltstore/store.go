//simvet:ignore simgo,simio,simchan,simsync,simtime a real file, and a goroutine that writes it, are what this package is for

package boltstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/simrun-dev/simrun/system/persist"
)

// Store is a persist.Consensus in a file. All methods may be called concurrently.
type Store struct {
	path      string
	db        *bolt.DB
	file      *os.File // of db
	proposals chan *proposal
	ended     chan struct{}           // closed when the writing goroutine has ended
	commit    func(tx *bolt.Tx) error // (*bolt.Tx).Commit, which tests make fail

	// life is held, shared, by each call, and by Close alone.
	life   sync.RWMutex
	closed bool

	// durable is held while a commit is on its way to the disk, shared to begin to read.
	durable sync.RWMutex
	failure atomic.Pointer[error] // why nothing is done any more
	// panicked: a transaction ended in a panic, and may have left bbolt's locks held. Of the writing
	// goroutine, until that has ended.
	panicked bool
}

var _ persist.Consensus = (*Store)(nil)

// Options are those of a [Store]. The zero value means the defaults.
type Options struct {
	// Timeout is how long Open waits for another process to let go of the file. Default 1 s.
	Timeout time.Duration
	// MaxBytes is how large the file may become; what needs more fails, determinate. Default
	// is no limit.
	MaxBytes int
}

// maxGroup bounds the changes of one transaction.
const maxGroup = 128

// Open opens the store in the file, made when there is none, in a directory that must exist. It fails
// with ErrInUse, ErrForeign, persist.ErrCorrupt, or an error of the operating system. It reads all of
// the file, to find damage now rather than in the middle of the work.
func Open(path string, opts Options) (*Store, error) {
	if opts.Timeout <= 0 {
		opts.Timeout = time.Second
	}
	if err := create(path); err != nil {
		return nil, fmt.Errorf("boltstore: create %s: %w", path, err)
	}
	db, file, err := openFile(path, opts)
	if err != nil {
		return nil, err
	}
	if err := prepare(db, file, path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s := &Store{
		path: path, db: db, file: file, commit: (*bolt.Tx).Commit,
		proposals: make(chan *proposal, maxGroup),
		ended:     make(chan struct{}),
	}
	go s.write()
	return s, nil
}

// openFile opens the file with bbolt, whose Open panics at some kinds of damage.
func openFile(path string, opts Options) (db *bolt.DB, file *os.File, err error) {
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		// To bbolt it would be a new store. No crash leaves that behind, see create.
		return nil, nil, corrupt(path, "the file is empty")
	}
	panicked := guard(func() {
		db, err = bolt.Open(path, fileMode, &bolt.Options{
			Timeout: opts.Timeout, MaxSize: opts.MaxBytes,
			FreelistType: bolt.FreelistMapType,
			OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
				f, err := os.OpenFile(name, flag, mode)
				file = f
				return f, err
			},
		})
	})
	switch {
	case panicked != nil:
		if file != nil {
			err = abandon(file)
		}
		return nil, nil, errors.Join(corrupt(path, panicked), err)
	case err != nil:
		return nil, nil, openError(path, err)
	}
	return db, file, nil
}

// prepare makes what is in the file durable and looks through it.
func prepare(db *bolt.DB, file *os.File, path string) error {
	// A process that was killed may have left a commit unsynced. Who reads it must not see it taken
	// back. The same goes for the name.
	if err := file.Sync(); err != nil {
		return fmt.Errorf("boltstore: %w", err)
	}
	if err := removeLeftovers(path); err != nil {
		return fmt.Errorf("boltstore: %w", err)
	}
	if err := syncDirectory(filepath.Dir(path)); err != nil {
		return fmt.Errorf("boltstore: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("boltstore: %w", err)
	}
	panicked := guard(func() {
		err = db.View(func(tx *bolt.Tx) error {
			if tx.Size() > info.Size() {
				return corrupt(path, fmt.Sprintf("%d of %d bytes are there", info.Size(), tx.Size()))
			}
			if err := checkFormat(tx, path); err != nil {
				return err
			}
			if err := checkVersions(tx); err != nil {
				return corrupt(path, err)
			}
			return nil
		})
	})
	if panicked != nil {
		return corrupt(path, panicked)
	}
	return err
}

// guard calls fn and returns what it panicked with. The file is read as memory: what of it can't be
// read is a fault, made a panic here.
func guard(fn func()) (panicked any) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { panicked = recover() }()
	fn()
	return nil
}

// Close ends the store once the calls under way have returned. Later ones fail with ErrClosed; closed
// again, Close does too.
func (s *Store) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.closed = true
	close(s.proposals)
	<-s.ended
	if s.panicked {
		return abandon(s.file) // db.Close might wait for ever
	}
	return s.db.Close()
}

// Path is the name of the file.
func (s *Store) Path() string { return s.path }

// enter begins a call. If err is nil, leave is to be called at its end.
func (s *Store) enter() (leave func(), err error) {
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return nil, ErrClosed
	}
	if why := s.failure.Load(); why != nil {
		s.life.RUnlock()
		return nil, *why
	}
	return s.life.RUnlock, nil
}

// fail makes all that follows fail. The first reason stands.
func (s *Store) fail(why error) { s.failure.CompareAndSwap(nil, &why) }
