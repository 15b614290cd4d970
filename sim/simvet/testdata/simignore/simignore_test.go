package simignore

import "time"

func inATest() {
	time.Sleep(1)
}
