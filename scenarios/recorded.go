package scenarios

import "github.com/simrun-dev/simrun/models"

// Recorded is a history that a run has recorded, and the model that reads and judges it.
type Recorded struct {
	Model   models.Model
	History *models.History
}

// Record makes a history known to those who look at a run from outside: the command line writes it
// to the file of --history, where the model judges it without the simulation.
func (r *Run) Record(m models.Model, h *models.History) {
	r.recorded = append(r.recorded, Recorded{m, h})
}

// Recorded are the histories of [Run.Record], in the order in which they were made known. They are
// complete when the run is: see [Options.Inspect].
func (r *Run) Recorded() []Recorded { return r.recorded }
