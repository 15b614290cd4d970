package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/simrun-dev/simrun/scenarios"
)

// Exit statuses. An interrupted campaign that found no violation ends in 128 plus the number of
// the signal, as shells have it: 130 for Ctrl-C.
const (
	exitPass      = 0 // all passed
	exitViolation = 1 // a violation was found
	exitUsage     = 2 // the call or its input is wrong
	exitUnknown   = 3 // could not judge
)

const exitHelp = `Exit status:
  0    all passed
  1    a violation was found
  2    the call or its input is wrong; one line on standard error says what, where, and how to mend it
  3    could not judge: a checker ran out of time, a run was vacuous or not deterministic, internal error
  130  interrupted by Ctrl-C (143: by SIGTERM), and no violation was found until then; what was done until
       then is reported and written. A second Ctrl-C ends at once.`

// usageError is something that the caller can mend.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// statusError ends the command in a status, after all there is to say has been said.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func status(code int) error {
	if code == exitPass {
		return nil
	}
	return statusError(code)
}

// Interrupted is the cause of a context that was cancelled by a signal.
type Interrupted struct{ Signal os.Signal }

func (e *Interrupted) Error() string { return fmt.Sprintf("interrupted (%v)", e.Signal) }

// interruptSignal is the signal behind the end of a context with the given cause.
func interruptSignal(cause error) os.Signal {
	var i *Interrupted
	if errors.As(cause, &i) {
		return i.Signal
	}
	return os.Interrupt
}

// interruptStatus is the exit status after an interruption of the given cause.
func interruptStatus(cause error) int {
	number, ok := interruptSignal(cause).(syscall.Signal)
	if !ok {
		number = syscall.SIGINT
	}
	return 128 + int(number)
}

// verdictStatus is the exit status of a single run.
func verdictStatus(v scenarios.Verdict) int {
	switch v {
	case scenarios.Pass:
		return exitPass
	case scenarios.Fail:
		return exitViolation
	}
	return exitUnknown
}

// campaignStatus is the exit status of a campaign; cause is why it was interrupted, if it was.
func campaignStatus(s scenarios.Summary, cause error) int {
	switch {
	case s.Failed > 0:
		return exitViolation
	case s.Interrupted:
		return interruptStatus(cause)
	case s.Unknown > 0, len(s.Abandoned) > 0, s.Seeds() == 0:
		return exitUnknown
	}
	return exitPass
}

// oneLine makes an error message one line.
func oneLine(message string) string {
	return strings.Join(strings.FieldsFunc(message, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
