package persist

import (
	"cmp"
	"errors"

	"github.com/simrun-dev/simrun/system/rawcbor"
)

// Every process that follows a shard decodes every version of it. That was half of all decoding, and is
// therefore done by hand: it makes of what wal.Encode made of a version the same as wal.Decode does.

var errNoVersion = errors.New("the record is none of a version")

func (v *version) decode(record []byte) error {
	r := rawcbor.Read(record)
	r.Tuple(5)
	v.SeqNo = seqNoOf(&r)
	v.Sum = r.Uint()
	v.RollupAt = seqNoOf(&r)
	v.Rollup = rollupOf(&r)
	v.Diff = diffOf(&r)
	if r.Failed() || len(r.Rest()) > 0 {
		return errNoVersion
	}
	return nil
}

func diffOf(r *rawcbor.Reader) (d diff) {
	r.Tuple(9)
	d.Walltime = r.Uint()
	d.Since = frontierOf(r)
	d.Asked = askedOf(r)
	d.Final = seqNoOf(r)
	d.Batches = spliceFrom(r)
	d.Writers = mapDiffOf(r, idOf[WriterID], writerOf)
	d.Readers = mapDiffOf(r, idOf[ReaderID], readerOf)
	d.Critical = mapDiffOf(r, idOf[CriticalID], criticalOf)
	d.Rollups = mapDiffOf(r, seqNoOf, rollupOf)
	return d
}

func spliceFrom(r *rawcbor.Reader) *splice {
	if r.Null() {
		return nil
	}
	r.Tuple(3)
	return &splice{At: r.Int(), Remove: r.Int(), Insert: listOf(r, batchOf)}
}

func mapDiffOf[K cmp.Ordered, V comparable](r *rawcbor.Reader, key func(*rawcbor.Reader) K, value func(*rawcbor.Reader) V) *mapDiff[K, V] {
	if r.Null() {
		return nil
	}
	r.Tuple(2)
	var d mapDiff[K, V]
	if n, ok := r.Pairs(); ok {
		d.Set = make(map[K]V, n)
		for range n {
			k := key(r)
			if _, twice := d.Set[k]; twice {
				r.Fail()
			}
			d.Set[k] = value(r)
		}
	}
	d.Drop = listOf(r, key)
	return &d
}

// listOf reads a list, which is nil if it was.
func listOf[T any](r *rawcbor.Reader, element func(*rawcbor.Reader) T) []T {
	n, ok := r.List()
	if !ok {
		return nil
	}
	list := make([]T, n)
	for i := range list {
		list[i] = element(r)
	}
	return list
}

func batchOf(r *rawcbor.Reader) batch {
	r.Tuple(4)
	return batch{Lower: frontierOf(r), Upper: frontierOf(r), Since: frontierOf(r), Parts: listOf(r, partOf)}
}

func partOf(r *rawcbor.Reader) part {
	r.Tuple(3)
	return part{Key: r.Text(), Updates: r.Int(), Checksum: r.Uint32()}
}

func writerOf(r *rawcbor.Reader) writerState {
	r.Tuple(4)
	return writerState{LastToken: idOf[Token](r), LastUpper: frontierOf(r), Heartbeat: r.Uint(), Lease: r.Uint()}
}

func readerOf(r *rawcbor.Reader) readerState {
	r.Tuple(4)
	return readerState{Hold: seqNoOf(r), Since: frontierOf(r), Heartbeat: r.Uint(), Lease: r.Uint()}
}

func criticalOf(r *rawcbor.Reader) criticalState {
	r.Tuple(3)
	return criticalState{Since: frontierOf(r), Opaque: Opaque(r.Uint()), LastToken: idOf[Token](r)}
}

func rollupOf(r *rawcbor.Reader) rollup {
	r.Tuple(2)
	return rollup{Key: r.Text(), Checksum: r.Uint32()}
}

func askedOf(r *rawcbor.Reader) asked {
	r.Tuple(6)
	return asked{
		Rollup: seqNoOf(r), Merge: seqNoOf(r), Collect: seqNoOf(r), Collected: seqNoOf(r),
		RollupTime: r.Uint(), CollectTime: r.Uint(),
	}
}

func seqNoOf(r *rawcbor.Reader) SeqNo { return SeqNo(r.Uint()) }

func idOf[T ~string](r *rawcbor.Reader) T { return T(r.Text()) }
