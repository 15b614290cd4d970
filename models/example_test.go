package models_test

import (
	"fmt"

	"github.com/simrun-dev/simrun/models"
)

// A workload records what it calls and what it is answered; afterwards the oracles judge. Here
// a writer is told that its append was refused, and a reader finds the row all the same.
func Example() {
	h := models.NewHistory()
	event := uint64(0)
	now := func() (uint64, int64) { // in a simulation: the trace's event number and the virtual time
		event++
		return event, int64(event) * 1_000_000
	}

	at, ns := now()
	append1 := h.Begin(1, models.KindCompareAndAppend, models.CompareAndAppend{
		Shard: "orders", Expected: models.At(0), New: models.At(5),
		Updates: []models.Update{{Data: "op-1", TS: 0, Diff: 1}},
	}, at, ns)
	at, ns = now()
	h.End(append1, models.Ok, nil, at, ns)

	at, ns = now()
	append2 := h.Begin(2, models.KindCompareAndAppend, models.CompareAndAppend{
		Shard: "orders", Expected: models.At(0), New: models.At(7),
		Updates: []models.Update{{Data: "op-2", TS: 3, Diff: 1}},
	}, at, ns)
	at, ns = now()
	h.End(append2, models.Fail, models.UpperMismatch{Current: models.At(5)}, at, ns)

	at, ns = now()
	read := h.Begin(3, models.KindSnapshot, models.Snapshot{Shard: "orders", AsOf: 4}, at, ns)
	at, ns = now()
	h.End(read, models.Ok, models.Contents{Rows: []models.Row{{Data: "op-1", Diff: 1}, {Data: "op-2", Diff: 1}}}, at, ns)

	verdict := models.VerdictPass
	for _, oracle := range []models.Oracle{models.Linearizable{History: h}, models.Definite{History: h}} {
		j := oracle.Judge()
		verdict = models.Worst(verdict, j.Verdict)
		for _, v := range j.Violations {
			fmt.Println(v.Oracle)
			fmt.Println(v.Message)
		}
	}
	fmt.Println(verdict)
	// Output:
	// persist/linearizable
	// shard orders: #3 client 3 snapshot(shard orders, as of 4) = ok 2 rows: "op-1" x1, "op-2" x1, from 5ms to 6ms differs from what was appended at times <= 4: 1 too many: "op-2" (#2 of client 2 at time 3, answered upper mismatch(current [5]))
	// fail
}

func ExampleKV() {
	h := models.NewHistory()
	put := h.Begin(1, models.KindPut, models.Put{Key: "x", Value: models.Text("new")}, 1, 1_000)
	h.End(put, models.Ok, nil, 2, 2_000)
	get := h.Begin(2, models.KindGet, models.Get{Key: "x"}, 3, 3_000)
	h.End(get, models.Ok, models.Found{}, 4, 4_000)
	fmt.Println(models.KV(h).Judge().Verdict)
	// Output: fail
}
