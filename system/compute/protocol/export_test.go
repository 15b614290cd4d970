package protocol

// FitsInto is Fits for messages that may be so long.
var FitsInto = fitsInto

// SetLongest sets how long a message may be.
func (c *Conn) SetLongest(n int) { c.longest = n }
