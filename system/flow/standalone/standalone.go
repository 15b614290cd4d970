package standalone

import (
	"context"

	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/frontend"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// Server is a frontend and a flow node.
type Server struct {
	*frontend.Frontend
	Node *flow.Node
}

// Start starts the server in this process. What the stores behind the client hold already is there again.
func Start(h host.Host, client *persist.Client, cfg flow.Config) (*Server, error) {
	f := frontend.New(h, client, frontend.Config{Nodes: []string{h.Name()}})
	n, err := flow.StartNode(h, f, cfg, nil)
	if err != nil {
		return nil, err
	}
	return &Server{f, n}, n.Reconcile(context.Background())
}

// Close ends the server and waits for its tasks.
func (s *Server) Close() { s.Node.Close() }
