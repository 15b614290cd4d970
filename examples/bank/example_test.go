package bank_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/simrun-dev/simrun/examples/bank"
	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// twoBranches starts a bank with two accounts on two machines, and has a client use it.
func twoBranches(use func(transfer func(...bank.Leg) bank.Reply)) error {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	for _, name := range []string{"paris", "rome"} {
		w.NewNode(name, func(h host.Host) {
			h.Logf("ended: %v", bank.ServeBranch(h, "head", map[string]int64{name + "/1": 100}))
		})
	}
	w.NewNode("head", func(h host.Host) { h.Logf("ended: %v", bank.ServeCoordinator(h, []string{"paris", "rome"})) })
	w.Go("client", func() {
		client := bank.NewClient(w.Host(), "head")
		defer client.Close()
		use(func(legs ...bank.Leg) bank.Reply {
			for {
				reply, err := client.Transfer(context.Background(), legs...)
				if err == nil && reply.Outcome != bank.Busy {
					return reply
				}
				w.Sleep(1e6) // not there yet, or locked by the transfer before
			}
		})
	})
	return w.Run()
}

// Money moves between machines, all of it or none.
func Example() {
	err := twoBranches(func(transfer func(...bank.Leg) bank.Reply) {
		fmt.Println(transfer(bank.Leg{Account: "paris/1", Amount: -60}, bank.Leg{Account: "rome/1", Amount: 60}).Outcome)
		fmt.Println(transfer(bank.Leg{Account: "paris/1", Amount: -60}, bank.Leg{Account: "rome/1", Amount: 60}).Outcome)
		fmt.Println(transfer(bank.Leg{Account: "paris/1"}, bank.Leg{Account: "rome/1"}).Balances)
	})
	fmt.Println(err)
	// Output:
	// committed
	// short
	// map[paris/1:40 rome/1:160]
	// <nil>
}

// BenchmarkTransfer is one transfer, with all that the machines do for it.
func BenchmarkTransfer(b *testing.B) {
	err := twoBranches(func(transfer func(...bank.Leg) bank.Reply) {
		transfer(bank.Leg{Account: "paris/1"}) // once all are there
		b.ResetTimer()
		for i := range b.N {
			amount := int64(1 - 2*(i%2))
			transfer(bank.Leg{Account: "paris/1", Amount: -amount}, bank.Leg{Account: "rome/1", Amount: amount})
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}
