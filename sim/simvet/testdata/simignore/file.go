//simvet:ignore simtime,simchan this file talks to the real world

package simignore

import "time"

func outside() {
	time.Sleep(1)
	<-time.After(1)
}
