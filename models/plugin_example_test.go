package models_test

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/simrun-dev/simrun/models"
)

// A machine that hands out numbered tickets, each number once and in order.
type (
	takeTicket struct {
		Office string `json:"office"`
	}
	ticket struct {
		Number int `json:"number"`
	}
)

func tickets(h *models.History) models.Oracle {
	return models.Sequential[int]{History: h, Spec: models.Spec[int]{
		Oracle: "tickets/linearizable",
		Object: func(op *models.Op) string { return op.Input.(takeTicket).Office },
		Step: func(last int, op *models.Op) (int, bool) {
			out, told := op.Output.(ticket)
			return last + 1, !told || out.Number == last+1
		},
		Alike: func(op *models.Op) any { return op.Kind },
	}}
}

func init() {
	models.Register(models.Model{
		Name: "tickets",
		Doc:  "offices that hand out numbered tickets",
		Schema: models.Schema{
			Inputs:  map[string]reflect.Type{"take": reflect.TypeFor[takeTicket]()},
			Outputs: map[string]reflect.Type{"ticket": reflect.TypeFor[ticket]()},
		},
		Oracles: func(h *models.History) []models.Oracle { return []models.Oracle{tickets(h)} },
	})
}

// A model of one's own: registered before [models.Lookup] is asked, it is there for
// `simrun check --model tickets`. Its oracle judges runs of a scenario as well, with
// run.Judge(tickets(history)).
func ExampleRegister() {
	m, _ := models.Lookup("tickets")
	h, err := m.Read(strings.NewReader(`
{"client":1,"kind":"take","input":{"office":"A"},"outcome":"ok","output":{"ticket":{"number":1}},"call":1,"return":2}
{"client":2,"kind":"take","input":{"office":"A"},"outcome":"unknown","call":3}
{"client":3,"kind":"take","input":{"office":"A"},"outcome":"ok","output":{"ticket":{"number":3}},"call":4,"return":5}
{"client":1,"kind":"take","input":{"office":"A"},"outcome":"ok","output":{"ticket":{"number":3}},"call":6,"return":7}
`), models.FormatAuto)
	fmt.Println(err)
	for _, j := range m.Judge(h, models.Bounds{}) {
		fmt.Println(j.Oracle, j.Verdict)
		fmt.Println(j.Violations[0].Message)
	}
	// Output:
	// <nil>
	// tickets/linearizable fail
	// A: no order of the operations explains the answer of #5 client 1 take{A} = ok {3}, @6 to @7, while all before it can be explained. It contradicts, whatever else happened:
	//   #4 client 3 take{A} = ok {3}, @4 to @5
	//   whatever it was before: 0, 1, 2, 3
	//   Smallest failing window: @4 to @7, 2 of the object's 4 operations
}
