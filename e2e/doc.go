// Package e2e tests the built programs against members in processes of their
// own: bin/muster, bin/muster-agent and, for members, bin/kube. "make test"
// builds and runs all of it.
//
//   - join, register, token, identity, audit, restart: what operators do, through
//     command line, REST and hub API, and what must not work
//   - replay: recordings of the field's unmodified clients (wire/) played against
//     a fresh hub, with every wanted deviation and its reason
//   - ui: the dashboard in a real browser (ui/)
//   - realcluster: members with kubelets (cluster/), the agent as a pod; root only
//   - bench: figures, not judged ("make bench")
//
// Tests named Fault kill or cut something; "make test-faults" repeats them.
package e2e
