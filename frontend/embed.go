// Package frontend carries the built dashboard into the binary.
//
// dist is made by "npm run build". A clone that never built it still compiles, because public/.gitkeep keeps the folder
// (Vite copies it into every new build); the server then says that the dashboard was not built.
package frontend

import "embed"

// FS holds the built dashboard below "dist": index.html with the placeholder __CSP_NONCE__, which the server replaces in
// every answer, and assets/ with hashed names, each with a .br and a .gz twin where that is smaller.
//
//go:embed all:dist
var FS embed.FS
