package cli

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Among many names nobody would find the one that was meant.
func TestSuggestionAmongMany(t *testing.T) {
	known := []string{"stale-upper"}
	require.Equal(t, "; did you mean stale-upper? There are: stale-upper", suggestion("stale-uper", known))
	for i := range suggestedAll {
		known = append(known, fmt.Sprintf("other-%d", i))
	}
	require.Equal(t, "; did you mean stale-upper?", suggestion("stale-uper", known))
	require.Equal(t, ", and none of the 31 that there are is called like that", suggestion("quite something else", known))
}
