package storage

import "github.com/simrun-dev/simrun/system/host"

// mailbox is the way of commands to a task. Once it is closed every command sent to it is
// answered at once, so that none is ever left without an answer.
type mailbox struct {
	commands *host.Chan[command]

	mu        *host.Mutex
	rejection error // of commands sent from now on; nil while it is open
}

func newMailbox(h host.Host, name string) *mailbox {
	return &mailbox{
		commands: host.NewChan[command](h, name+" commands", host.Unbounded),
		mu:       host.NewMutex(h, name+" mailbox"),
	}
}

func (m *mailbox) send(c command) {
	m.mu.Lock()
	rejection := m.rejection
	if rejection == nil {
		m.commands.Send(c)
	}
	m.mu.Unlock()
	if rejection != nil {
		c.respond.answer(rejection)
	}
}

// close makes commands sent from now on be rejected. Those in the mailbox stay.
func (m *mailbox) close(rejection error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rejection == nil {
		m.rejection = rejection
		m.commands.Close()
	}
}

// end closes the mailbox and rejects what is in it.
func (m *mailbox) end(rejection error) {
	m.close(rejection)
	for c, ok := m.commands.Recv(); ok; c, ok = m.commands.Recv() {
		c.respond.answer(rejection)
	}
}

// more is first, and the commands waiting behind it, at most limit in all.
func (m *mailbox) more(first command, limit int) []command {
	batch := []command{first}
	for len(batch) < limit {
		c, ok, ready := m.commands.TryRecv()
		if !ready || !ok {
			break
		}
		batch = append(batch, c)
	}
	return batch
}
