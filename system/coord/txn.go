package coord

import (
	"cmp"
	"fmt"
)

// Txn is executed as a whole, at one revision: if all compares hold the operations of Then, else
// those of Else. Operations see the effects of those before them.
type Txn struct {
	_    struct{} `cbor:",toarray"`
	If   []Compare
	Then []Op
	Else []Op
}

// Compare is a condition on one key. A key that does not exist has all its numbers zero, and the
// value "".
type Compare struct {
	_      struct{} `cbor:",toarray"`
	Key    string
	Target Target
	Is     Relation
	// Number is what the key's revision, version or lease is compared with, Value what its value is.
	Number uint64
	Value  string
}

// Target is what of a key is compared.
type Target uint8

// The targets.
const (
	CreateRevision Target = iota + 1
	ModRevision
	Version
	Lease
	Value
)

// Relation is how it is compared.
type Relation uint8

// The relations.
const (
	Equal Relation = iota + 1
	NotEqual
	Less
	Greater
)

// Absent holds when the key does not exist.
func Absent(key string) Compare {
	return Compare{Key: key, Target: Version, Is: Equal}
}

// Exists holds when it does.
func Exists(key string) Compare {
	return Compare{Key: key, Target: Version, Is: Greater}
}

// CreatedAt holds when the key came into being at that revision and was not deleted since.
func CreatedAt(key string, r Revision) Compare {
	return Compare{Key: key, Target: CreateRevision, Is: Equal, Number: uint64(r)}
}

// ModifiedAt holds when the key was last put at that revision; at 0, when it does not exist.
func ModifiedAt(key string, r Revision) Compare {
	return Compare{Key: key, Target: ModRevision, Is: Equal, Number: uint64(r)}
}

// ValueIs holds when the key exists with that value, or does not exist and the value is "".
func ValueIs(key, value string) Compare {
	return Compare{Key: key, Target: Value, Is: Equal, Value: value}
}

func (c Compare) holds(kv KeyValue) bool {
	var order int
	switch c.Target {
	case CreateRevision:
		order = cmp.Compare(uint64(kv.CreateRevision), c.Number)
	case ModRevision:
		order = cmp.Compare(uint64(kv.ModRevision), c.Number)
	case Version:
		order = cmp.Compare(kv.Version, c.Number)
	case Lease:
		order = cmp.Compare(uint64(kv.Lease), c.Number)
	case Value:
		order = cmp.Compare(kv.Value, c.Value)
	}
	switch c.Is {
	case Equal:
		return order == 0
	case NotEqual:
		return order != 0
	case Less:
		return order < 0
	default:
		return order > 0
	}
}

// Op is one operation of a [Txn]: made by [Put], [PutLeased], [Delete] or [Get].
type Op struct {
	_    struct{} `cbor:",toarray"`
	Kind OpKind
	Keys Keys // for a put, the one key
	// Value and Lease are what is put.
	Value string
	Lease LeaseID
}

// OpKind is what an operation does.
type OpKind uint8

// The kinds of operations.
const (
	OpGet OpKind = iota + 1
	OpPut
	OpDelete
)

// Put sets a key's value, and takes it out of its lease if it has one.
func Put(key, value string) Op { return Op{Kind: OpPut, Keys: One(key), Value: value} }

// PutLeased sets a key's value and puts it under a lease, instead of the one it may have.
func PutLeased(key, value string, lease LeaseID) Op {
	return Op{Kind: OpPut, Keys: One(key), Value: value, Lease: lease}
}

// Delete deletes keys. Those that do not exist are no error.
func Delete(keys Keys) Op { return Op{Kind: OpDelete, Keys: keys} }

// Get reads keys.
func Get(keys Keys) Op { return Op{Kind: OpGet, Keys: keys} }

// TxnResult is what came of a [Txn].
type TxnResult struct {
	_ struct{} `cbor:",toarray"`
	// Succeeded tells whether the compares held.
	Succeeded bool
	// Revision is the store's revision after it: of its own changes, if it made any.
	Revision Revision
	// Ops are the results of the operations, in order.
	Ops []OpResult
}

// OpResult is what came of one operation.
type OpResult struct {
	_ struct{} `cbor:",toarray"`
	// KVs are the keys that were read, sorted.
	KVs []KeyValue
	// Deleted is how many keys were deleted.
	Deleted int
}

// Writes tells whether the transaction may change something.
func (t Txn) Writes() bool {
	for _, ops := range [][]Op{t.Then, t.Else} {
		for _, op := range ops {
			if op.Kind != OpGet {
				return true
			}
		}
	}
	return false
}

// check tells what is wrong with a transaction, whatever is in the store.
func (t Txn) check() error {
	for _, c := range t.If {
		if c.Target < CreateRevision || c.Target > Value || c.Is < Equal || c.Is > Greater {
			return fmt.Errorf("%w: compare of %q: no target %d or relation %d", ErrInvalid, c.Key, c.Target, c.Is)
		}
	}
	for _, ops := range [][]Op{t.Then, t.Else} {
		for i, op := range ops {
			switch {
			case op.Kind < OpGet || op.Kind > OpDelete:
				return fmt.Errorf("%w: no operation %d", ErrInvalid, op.Kind)
			case op.Kind == OpPut && op.Keys.To != "":
				return fmt.Errorf("%w: put of a range", ErrInvalid)
			case op.Kind == OpGet:
				continue
			}
			for _, before := range ops[:i] {
				if before.Kind != OpGet && before.Keys.overlaps(op.Keys) {
					return fmt.Errorf("%w: %q is written twice in one transaction", ErrInvalid, op.Keys.From)
				}
			}
		}
	}
	return nil
}
