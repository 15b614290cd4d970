package rawcbor

import "math"

// Reader is what is left to be read of some items. Once one is found not to be what it should be, the Reader has
// failed: everything read from then on is zero, and nothing is left. So it is enough to ask once, at the end.
type Reader struct {
	rest   []byte
	failed bool
}

// Read returns a reader of p, which is not changed and not kept by what is read but for [Reader.Rest].
func Read(p []byte) Reader { return Reader{rest: p} }

// Rest is what was not read yet, nil after a failure.
func (r *Reader) Rest() []byte { return r.rest }

// Failed tells whether something was not what it should be.
func (r *Reader) Failed() bool { return r.failed }

// Fail makes the reader fail: what was read can't be.
func (r *Reader) Fail() { r.rest, r.failed = nil, true }

// head reads a head and returns its argument.
func (r *Reader) head(major Major) uint64 {
	if len(r.rest) == 0 || Major(r.rest[0]&0xe0) != major {
		r.Fail()
		return 0
	}
	short := r.rest[0] & 0x1f
	if short < 24 {
		r.rest = r.rest[1:]
		return uint64(short)
	}
	if short > 27 {
		r.Fail()
		return 0
	}
	size := 1 << (short - 24)
	if len(r.rest) < 1+size {
		r.Fail()
		return 0
	}
	var n uint64
	for _, b := range r.rest[1 : 1+size] {
		n = n<<8 | uint64(b)
	}
	r.rest = r.rest[1+size:]
	return n
}

// Uint reads an unsigned integer.
func (r *Reader) Uint() uint64 { return r.head(Uint) }

// Uint32 is Uint of a number of 32 bits.
func (r *Reader) Uint32() uint32 { return uint32(r.upTo(math.MaxUint32)) }

// Int is Uint of a number that an int holds.
func (r *Reader) Int() int { return int(r.upTo(math.MaxInt)) }

func (r *Reader) upTo(most uint64) uint64 {
	n := r.Uint()
	if n > most {
		r.Fail()
		return 0
	}
	return n
}

// Text reads a byte string.
func (r *Reader) Text() string {
	n := r.head(Bytes)
	if n > uint64(len(r.rest)) {
		r.Fail()
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

// Tuple reads the head of an array of n items.
func (r *Reader) Tuple(n uint64) {
	if r.head(Array) != n {
		r.Fail()
	}
}

// Null reads null, if that comes next, and tells whether it does.
func (r *Reader) Null() bool {
	if len(r.rest) == 0 || r.rest[0] != Null {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// List reads the head of an array, or null, of which ok is false. There are at least n bytes left.
func (r *Reader) List() (n int, ok bool) { return r.several(Array, 1) }

// Pairs reads the head of a map, or null, of which ok is false. There are at least 2n bytes left.
func (r *Reader) Pairs() (n int, ok bool) { return r.several(Map, 2) }

func (r *Reader) several(major Major, size uint64) (int, bool) {
	if r.Null() {
		return 0, false
	}
	n := r.head(major)
	if n > uint64(len(r.rest))/size { // don't make room for what can't be there
		r.Fail()
		return 0, false
	}
	return int(n), !r.failed
}
