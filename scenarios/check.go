package scenarios

import (
	"fmt"

	"github.com/simrun-dev/simrun/models"
)

// Check is an oracle that a workload asks while it runs, for what needs no history: that a read
// returned what was written, that a total is right.
type Check struct {
	r      *Run
	name   string
	judged int
	found  []models.Violation
	more   int
}

// maxViolations is how many violations of one check are kept.
const maxViolations = 10

// Check adds an oracle of that name to the run, one of those that Scenario.Oracles names.
func (r *Run) Check(name string) *Check {
	c := &Check{r: r, name: name}
	r.Judge(c)
	return c
}

// Holds judges once: ok must be true. If it is not, the message says what is wrong, and the run goes
// on. It returns ok.
func (c *Check) Holds(ok bool, format string, args ...any) bool {
	c.judged++
	if !ok {
		c.violate(models.Violation{
			Oracle: c.name, Message: fmt.Sprintf(format, args...),
			AtNS: int64(c.r.World.Now()), Event: c.r.World.Events(),
		})
	}
	return ok
}

func (c *Check) violate(v models.Violation) {
	if len(c.found) == maxViolations {
		c.more++
		return
	}
	c.found = append(c.found, v)
}

// Name implements models.Oracle.
func (c *Check) Name() string { return c.name }

// Judge implements models.Oracle.
func (c *Check) Judge() models.Judgement {
	j := models.Judgement{Oracle: c.name, Verdict: models.VerdictPass, Judged: c.judged, Violations: c.found}
	if len(c.found) > 0 {
		j.Verdict = models.VerdictFail
	}
	if c.more > 0 {
		last := c.found[len(c.found)-1]
		last.Message = fmt.Sprintf("%s; and %d more", last.Message, c.more)
		j.Violations = append(c.found[:len(c.found)-1:len(c.found)-1], last)
	}
	return j
}
