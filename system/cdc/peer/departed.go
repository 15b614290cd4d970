package peer

// departed are the names of peers that were removed, the latest of them: whoever still adds one goes by what was
// so a moment ago, and whoever still sends under one is about to notice.
type departed struct {
	names map[string]bool
	order []string // the oldest first
}

// departedKept is how many are remembered. More can't come and go in a moment.
const departedKept = 1024

func (d *departed) add(name string) {
	if d.names[name] {
		return
	}
	d.names[name] = true
	d.order = append(d.order, name)
	if len(d.order) > departedKept {
		delete(d.names, d.order[0])
		d.order = append([]string(nil), d.order[1:]...)
	}
}
