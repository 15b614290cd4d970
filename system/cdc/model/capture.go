package model

// CaptureInfo describes a capture to the others.
type CaptureInfo struct {
	ID            CaptureID `json:"id"`
	AdvertiseAddr string    `json:"address"`
	Version       string    `json:"version"`
}
