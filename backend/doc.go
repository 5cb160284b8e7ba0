// Package backend is the hub. The folder is the noun, the file is the concern,
// imports point left and down:
//
//	cmd        backend/cmd/muster
//	wiring     backend/app          the only package that may import everything in backend/
//	domains    access ◄ audit ◄ token ◄ registration ◄ identity ◄ reach ◄ joining ◄ enrolment ◄ liveness ◄ cluster ◄ tunnel ◄
//	           policy ◄ override ◄ scheduling ◄ template ◄ execution ◄ propagation ◄ eviction ◄ workload
//	           import leftward only
//	platform   httpapi  live  database  kube  controlplane       know no domain, nor each other
//	contracts  fault  agentapi  apis/**                          all that agent/ may import of backend/
//
// A domain that needs something to its right declares a small interface; app
// passes it in. backend/app/imports_test.go holds the code to this picture.
//
// This file also carries what the OpenAPI description says about the API as a
// whole; swag reads it here (deploy/dev/apidocs.sh).
//
//	@title						Muster API
//	@version					v1
//	@description				What the dashboard uses, and scripts may. Errors are problem+json (RFC 9457) with a stable code. Everything but a GET needs Content-Type application/json, an Origin (or Sec-Fetch-Site) that is the hub's own, and the session's token in the header X-CSRF-Token.
//	@BasePath					/api/v1
//	@accept						json
//	@produce					json
//	@securityDefinitions.apikey	session
//	@in							header
//	@name						Cookie
//	@description				The cookie __Host-muster, which POST /session sets.
//	@security					session
package backend
