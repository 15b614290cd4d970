package real

import (
	"fmt"
	"maps"
	"sync"

	"github.com/simrun-dev/simrun/system/host"
)

// Book is Peers kept in memory. Any number of hosts may share it.
type Book struct {
	mu    sync.RWMutex
	addrs map[string]string
}

// NewBook returns a book with the addresses of some machines, by name.
func NewBook(addrs map[string]string) *Book {
	b := &Book{addrs: maps.Clone(addrs)}
	if b.addrs == nil {
		b.addrs = map[string]string{}
	}
	return b
}

// Set enters a machine, or changes its address.
func (b *Book) Set(name, addr string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addrs[name] = addr
}

// Find is part of Peers.
func (b *Book) Find(name string) (string, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	addr, ok := b.addrs[name]
	if !ok {
		return "", fmt.Errorf("%w: %q is not in the address book", host.ErrNoHost, name)
	}
	return addr, nil
}
