package simvet

// plainContexts are the contexts that package context makes.
var plainContexts = func() banned {
	b := banned{}
	const plain = "makes a context that can't wake the tasks that wait for it"
	const clock = "makes a context with a deadline in real time, which the seed does not decide"
	b.ban("context", advice{plain, "host.WithCancel", callHost("WithCancel")}, "WithCancel")
	b.ban("context", advice{plain, "host.WithCancel, and keep the cause beside it", nil}, "WithCancelCause")
	b.ban("context", advice{clock, "Host.Clock().WithTimeout", replaceWith("%s.Clock().WithTimeout")}, "WithTimeout")
	b.ban("context", advice{clock, "Host.Clock().WithDeadline", replaceWith("%s.Clock().WithDeadline")}, "WithDeadline")
	b.ban("context", advice{clock, "Host.Clock().WithTimeout, and keep the cause beside it", nil}, "WithTimeoutCause")
	b.ban("context", advice{clock, "Host.Clock().WithDeadline, and keep the cause beside it", nil}, "WithDeadlineCause")
	b.ban("context", advice{"calls its function in a goroutine of its own", "a task of Host.Go that waits in host.Select for host.OnDone", nil}, "AfterFunc")
	b.ban("golang.org/x/sync/errgroup", advice{plain, "host.WithCancel and a host.WaitGroup", nil}, "WithContext")
	return b
}()
