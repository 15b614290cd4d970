module github.com/simrun-dev/simrun/internal/pgcheck

go 1.26.0

require (
	github.com/pganalyze/pg_query_go/v6 v6.2.2
	github.com/simrun-dev/simrun v0.0.0
	github.com/stretchr/testify v1.12.1
	github.com/wasilibs/go-pgquery v0.0.0-20260728010200-155ebad2880e
)

require (
	github.com/tetratelabs/wazero v1.12.0 // indirect
	github.com/wasilibs/wazero-helpers v0.0.0-20250123031827-cd30c44769bb // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.50.0 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)

replace github.com/simrun-dev/simrun => ../..
