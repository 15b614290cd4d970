package sql_test

import (
	"strings"
	"testing"

	"github.com/simrun-dev/simrun/system/sql"
)

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{
		"flow": "CREATE FLOW slow SINK TO slow_requests EXPIRE AFTER '1 day'::INTERVAL AS " +
			"SELECT host, count(*) AS n, date_bin(INTERVAL '1 minute', ts) AS minute FROM requests WHERE ms > 1e3 GROUP BY host, minute",
		"insert-1000": "INSERT INTO requests (host, ms, ts) VALUES " + strings.Repeat("('host-1', 12.5, 1700000000000),", 1000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := sql.Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkString(b *testing.B) {
	s, err := sql.ParseStatement("SELECT host, count(*) AS n FROM requests WHERE ms > 1e3 AND NOT (host = 'a' OR host = 'b') GROUP BY host")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = s.String()
	}
}
