package faults

import "slices"

// Topology is what a scenario offers to faults.
type Topology struct {
	// Machines in order of creation, without the world's own.
	Machines []Machine
	// Subjects are the targets of the scenario's own kinds, by kind.
	Subjects map[string][]string
	// Moments are notes of the scenario's own that faults may wait for, beside those of the catalogue
	// ([Moments]).
	Moments []string
}

// Machine is a node that faults may act on.
type Machine struct {
	Name string
	// Role groups machines that do the same: "client", "consensus".
	Role string
	// Disk says that it uses its disk.
	Disk bool
}

func (t *Topology) machineNames() []string {
	names := make([]string, len(t.Machines))
	for i, m := range t.Machines {
		names[i] = m.Name
	}
	return names
}

func (t *Topology) diskNames() []string {
	var names []string
	for _, m := range t.Machines {
		if m.Disk {
			names = append(names, m.Name)
		}
	}
	return names
}

// others are the machines without the given ones.
func (t *Topology) others(names []string) []string {
	var rest []string
	for _, m := range t.Machines {
		found := false
		for _, n := range names {
			found = found || n == m.Name
		}
		if !found {
			rest = append(rest, m.Name)
		}
	}
	return rest
}

// machinesOf are the machines of a role.
func (t *Topology) machinesOf(role string) []string {
	var names []string
	for _, m := range t.Machines {
		if m.Role == role {
			names = append(names, m.Name)
		}
	}
	return names
}

// roles are the roles of the machines, in the order of the first of each.
func (t *Topology) roles() []string {
	var roles []string
	for _, m := range t.Machines {
		if !slices.Contains(roles, m.Role) {
			roles = append(roles, m.Role)
		}
	}
	return roles
}
