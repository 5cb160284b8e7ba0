// Package apidocs carries the OpenAPI description of the REST API. The files
// beside this one are generated from the handlers' comments by make generate.
package apidocs

import _ "embed"

// Swagger is the description as Swagger 2.0 in JSON.
//
//go:embed swagger.json
var Swagger []byte
