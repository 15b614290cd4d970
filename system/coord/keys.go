package coord

// Keys is a set of keys: one, or those from a first up to but not including a last. The zero value is
// the one key "".
type Keys struct {
	_ struct{} `cbor:",toarray"`
	// From is the first key.
	From string
	// To is the key before which the range ends. "" is a range of the one key From, and
	// [Unbounded] one of all keys from From on.
	To string
}

// Unbounded is the end of a range that has none.
const Unbounded = "\x00"

// One is a single key.
func One(key string) Keys { return Keys{From: key} }

// All is all keys.
func All() Keys { return Keys{To: Unbounded} }

// Prefix is all keys that begin with p.
func Prefix(p string) Keys {
	// Bytes, and not characters: a key need not be UTF-8.
	last := len(p) - 1
	for last >= 0 && p[last] == 0xff {
		last--
	}
	if last < 0 {
		return Keys{From: p, To: Unbounded}
	}
	return Keys{From: p, To: p[:last] + string([]byte{p[last] + 1})}
}

// Contains tells whether the set has the key.
func (k Keys) Contains(key string) bool {
	switch k.To {
	case "":
		return key == k.From
	case Unbounded:
		return key >= k.From
	}
	return key >= k.From && key < k.To
}

// overlaps tells whether the sets have a key in common.
func (k Keys) overlaps(o Keys) bool {
	if k.To == "" {
		return o.Contains(k.From)
	}
	if o.To == "" {
		return k.Contains(o.From)
	}
	before := func(a, b Keys) bool { return a.To != Unbounded && a.To <= b.From }
	return !before(k, o) && !before(o, k)
}
